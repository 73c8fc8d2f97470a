/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "heap/heap-profile.h"

/* Appended to the name of a process whose heap data is untrusted. */
#define FORGED_MARK "[forged-heap]"

enum { NAME_SIZE = 128 };

int heap_profile_add_stack(struct heap *heap, struct profile *profile,
			   const struct named_stack *stack, const struct wire_heap_stack *record)
{
	uint32_t node, thread = 0;
	int r = profile_find_stack(profile, stack, &node, &thread);

	return r < 0 ? r : heap_add_stack(heap, record, node, thread);
}

/* All formats show process names, so no output has such amounts unmarked. */
static int mark_forgers(const struct heap *heap, struct profile *profile)
{
	struct names *names = &profile->stacks->names;

	for (size_t i = 0; heap->n_forgers && i < profile->n_processes; i++) {
		struct profile_process *process = &profile->processes[i];
		const char *name = names_text(names, process->name);
		char text[NAME_SIZE];
		int size;

		if (!heap_is_forged(heap, process->number) || strstr(name, FORGED_MARK))
			continue;
		size = snprintf(text, sizeof(text), "%.64s %s", name, FORGED_MARK);
		process->name = names_intern(names, text, size);
		if (!process->name)
			return -ENOMEM;
	}
	return 0;
}

int heap_profile_select(const struct heap *heap, struct profile *profile, enum heap_metric metric,
			enum heap_unit unit)
{
	int r = mark_forgers(heap, profile);

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
