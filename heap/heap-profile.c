/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "heap/heap-profile.h"

int heap_profile_add_stack(struct heap *heap, struct profile *profile,
			   const struct named_stack *stack, const struct wire_heap_stack *record)
{
	uint32_t node, thread = 0;
	int r = profile_find_stack(profile, stack, &node, &thread);

	return r < 0 ? r : heap_add_stack(heap, record, node, thread);
}

int heap_profile_select(const struct heap *heap, struct profile *profile, enum heap_metric metric,
			enum heap_unit unit)
{
	int r = 0;

	profile_drop_samples(profile, profile->n_samples);
	for (size_t i = 0; i < heap->n_stacks && r == 0; i++) {
		const struct heap_stack *stack = &heap->stacks[i];
		const struct profile_sample sample = {
			.n = 1,
			.weight = heap_amount_in(heap_stack_amount(stack, metric), unit),
			.node = stack->node,
			.thread = stack->thread,
			.end = stack->end,
		};

		if (sample.weight && sample.node)
			r = profile_add_sample(profile, &sample);
	}
	return r;
}
