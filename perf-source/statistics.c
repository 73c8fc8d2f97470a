/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts at the end what a recording has lost and refused. */
#include "perf-source/perf-source.h"

static void add(struct stage *stage, const char *group, const char *name, uint64_t n)
{
	*counters_get(&stage->counters, group, name) += n;
}

static void add_some(struct stage *stage, const char *group, const char *name, uint64_t n)
{
	if (n)
		add(stage, group, name, n);
}

/* Waits of the program at switches go on without what their interpreter executed. */
static uint64_t count_lost_walks(struct stage *stage, const struct event_set *events)
{
	uint64_t lost =
		events->setup.has_switch_program ? event_set_lost_parts(events, RING_WAITS) : 0;

	add_some(stage, "interpreter-frames", "lost", lost);
	return lost;
}

/* The kernel's own counts include losses at the very end, which no record reports. */
static void count_lost(struct stage *stage, struct perf_source *self)
{
	const struct event_set *events = &self->event_set;
	bool is_exact = !events->setup.no_lost_format;
	uint64_t lost = is_exact ? event_set_lost(events, RING_SAMPLES) : self->lost_emitted;

	stage_miss(stage, STAGE_KERNEL_LOST, lost);
	missing_emit(self, stage, lost);
	if (!is_exact || (!events->has_waits && !self->scheduler))
		return;
	*counters_get(&stage->counters, "events", "switches-lost") =
		event_set_lost(events, RING_SWITCHES);
	*counters_get(&stage->counters, "events", "waits-lost") =
		event_set_lost(events, RING_WAITS) - count_lost_walks(stage, events);
}

/* Why stacks were copied that the kernel was to walk. */
static void count_walks(struct stage *stage, const struct perf_source *self)
{
	static const char *const names[UNWIND_LEFT_N] = {
		[UNWIND_LEFT_PROCESS] = "left-new-process", [UNWIND_LEFT_MAPPING] = "left-no-file",
		[UNWIND_LEFT_TABLE] = "left-no-table",	    [UNWIND_LEFT_RULE] = "left-no-rule",
		[UNWIND_LEFT_WORD] = "left-absent",	    [UNWIND_LEFT_LIMIT] = "left-limit",
		[UNWIND_LEFT_SCRIPT] = "left-interpreter",
	};

	kernel_walks_count(&self->kernel_walks, stage);
	for (size_t i = 0; i < self->n_sample_programs; i++)
		for (enum unwind_left why = 0; why < UNWIND_LEFT_N; why++)
			add_some(stage, "kernel-walks", names[why],
				 unwind_program_count_left(&self->sample_programs[i], why));
}

void perf_source_count(struct stage *stage, struct perf_source *self)
{
	const struct processes *processes = &self->processes;

	count_lost(stage, self);
	count_walks(stage, self);
	for (size_t i = 0; i < self->n_sample_programs; i++)
		add(stage, "samples", "not-wanted",
		    sample_program_count_skipped(&self->sample_programs[i]));
	add_some(stage, "refused", "processes",
		 self->followed.n_refused + follow_program_count_refused(&self->followed.program));
	add_some(stage, "interpreter-frames", "objects-left", programs_count_left(self));
	if (self->contexts.stage)
		contexts_count(&self->contexts);
	add_some(stage, "refused", "marks", self->marks.n_refused);
	processes_warn_of_refused(&self->processes);
	add(stage, "events", "late", self->merge.n_late);
	add(stage, "processes", "incarnations", processes->n_upids);
	add(stage, "processes", "maps-read-again", processes->n_rereads);
	add(stage, "processes", "maps-compared", processes->n_compared);
	add(stage, "processes", "mappings-moved", processes->n_moved);
}
