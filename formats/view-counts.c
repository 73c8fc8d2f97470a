/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/sum.h"
#include "formats/view-counts.h"

enum {
	COUNTED_FOR_SUMMARY = 1 << 14, /* distinct stacks; beyond, rare ones are dropped */
	THREAD_TEXT = 128,
};

void view_counts_deinit(struct view_counts *counts)
{
	stack_counts_deinit(&counts->counts);
	free(counts->leaves.n_samples);
}

void view_counts_find_view(struct view_counts *counts, const struct events *events)
{
	if (counts->view_name) {
		counts->has_view = view_find(events, counts->view_name, &counts->view);
		return;
	}
	/* With waits, wall-clock time is the most useful default. */
	counts->has_view =
		(events_have_waits(events) && view_find(events, "wall-clock", &counts->view)) ||
		view_find(events, "samples", &counts->view);
}

void view_counts_start(struct view_counts *counts, struct stacks *stacks)
{
	char text[STACKS_END_TEXT];

	view_counts_find_view(counts, &stacks->events);
	if (!counts->keeps_rare)
		return;
	stacks_end_text(WIRE_stack_end_MORE_STACKS, text);
	counts->counts.crowd = names_intern(&stacks->names, text, strlen(text));
}

/* The names of a stack's frames, the outermost first. Returns their number. */
static size_t put_names(struct stage *stage, const struct stacks *stacks,
			const struct named_stack *stack, uint32_t *ret)
{
	size_t n = 0, n_inlined = 0;

	for (size_t i = 0; i < stack->n_shown; i++) {
		size_t n_names;
		const uint32_t *list =
			names_of_label(&stacks->names, &stack->shown[i].label, &n_names);

		if (n_inlined + n_names - 1 > STACK_COUNT_INLINED_MAX) {
			++*counters_get(&stage->counters, "refused", "inlined-calls");
			n_names = 1;
		}
		n_inlined += n_names - 1;
		for (size_t k = 0; k < n_names; k++)
			ret[n++] = list[k];
	}
	return n;
}

/* Names a thread as stackcollapse-perf.pl does with --tid: "comm-PID/TID". */
static uint32_t name_single_thread(struct stacks *stacks, const struct named_stack *stack,
				   uint32_t name)
{
	const char *comm = names_text(&stacks->names, name);
	uint32_t pid = stack->process ? stack->process->pid : 0, tid = stack->record->tid;
	char text[THREAD_TEXT];
	int size = snprintf(text, sizeof(text), "%.64s-%" PRIu32 "/%" PRIu32, comm, pid, tid);

	return names_intern(&stacks->names, text, size);
}

static uint32_t name_thread(const struct view_counts *counts, struct stacks *stacks,
			    const struct named_stack *stack)
{
	uint32_t name = names_of_thread(&stacks->names, stack->process, stack->record->process,
					stack->record->tid);

	return counts->emits_tid ? name_single_thread(stacks, stack, name) : name;
}

/* The innermost user frame of a wait that has a name; `otherwise`: no frame has one. */
static uint32_t name_waiter(const struct stacks *stacks, const struct named_stack *stack,
			    uint32_t otherwise)
{
	for (size_t i = stack->n_shown; i-- > 0;) {
		const struct named_frame *frame = &stack->shown[i];
		const uint32_t *list;
		size_t n;

		if (frame->flags & WIRE_frame_flags_KERNEL)
			continue;
		list = names_of_label(&stacks->names, &frame->label, &n);
		if (*names_text(&stacks->names, list[n - 1]) != '[')
			return list[n - 1];
	}
	return otherwise;
}

/* Makes room for half as many again as there are names. */
static int make_room_for_leaf(struct leaf_counts *counts, size_t n_names)
{
	size_t n = n_names + n_names / 2 + 1;
	uint64_t *larger = reallocarray(counts->n_samples, n, sizeof(*larger));

	if (!larger)
		return -ENOMEM;
	memset(larger + counts->n, 0, (n - counts->n) * sizeof(*larger));
	*counts = (struct leaf_counts){ larger, n };
	return 0;
}

/* Adds `n` to a name's samples. `n_names`: the number of names so far. 0 or -ENOMEM. */
static int add_leaf(struct leaf_counts *counts, uint32_t name, size_t n_names, uint64_t n)
{
	if (name >= counts->n && make_room_for_leaf(counts, name < n_names ? n_names : name) < 0)
		return -ENOMEM;
	sum_add(&counts->n_samples[name], n);
	return 0;
}

/* A counted stack has the names of its thread, end reason, and frames, the outermost first. */
int view_counts_add(struct view_counts *counts, struct stage *stage, struct stacks *stacks,
		    const struct named_stack *stack)
{
	const struct events *events = &stacks->events;
	const struct wire_stack *record = stack->record;
	uint64_t amount = counts->has_view ? view_amount(events, counts->view, record->event,
							 wire_stack_samples(record), record->weight)
					   : 0;
	bool is_wait = events_is_wait(events, record->event);
	char reason[STACKS_END_TEXT];
	uint32_t leaf;
	size_t n = 0;

	if (is_wait) {
		sum_add(&counts->n_waits, wire_stack_samples(record));
		sum_add(&counts->waited_ns, record->weight);
	} else if (event_is_clock(events, record->event)) {
		sum_add(&counts->on_cpu_ns, record->weight);
	}
	if (events_is_wakeup(events, record->event))
		sum_add(&counts->n_wakeups, wire_stack_samples(record));
	if (!amount)
		return 0;
	stage_sum(stage, &counts->n_counted, amount);
	counts->names[n++] = name_thread(counts, stacks, stack);
	if (stacks_end_text(record->end, reason))
		counts->names[n++] = names_intern(&stacks->names, reason, strlen(reason));
	n += put_names(stage, stacks, stack, counts->names + n);
	leaf = counts->names[n - 1];
	if (is_wait)
		leaf = name_waiter(stacks, stack, leaf);
	/* Only the summary does so: it does not show rare stacks. */
	if (!counts->keeps_rare && counts->counts.n >= COUNTED_FOR_SUMMARY)
		stack_counts_forget_rare(&counts->counts);
	if (add_leaf(&counts->leaves, leaf, stacks->names.n, amount) < 0)
		return -ENOMEM;
	return stack_counts_add_many(&counts->counts, counts->names, n, amount);
}

static uint32_t meaning(uint32_t name, void *arg)
{
	return names_meaning(arg, name);
}

int view_counts_finish(struct view_counts *counts, struct names *names)
{
	return stack_counts_rename(&counts->counts, meaning, names);
}
