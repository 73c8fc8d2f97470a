/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads BPF programs where they are needed, or warns what is missing without them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/bpf/user-memory.h"
#include "perf-source/perf-source.h"
#include "perf-source/perf/sample-filter.h"
#include "perf-source/perf/tracepoint.h"

enum {
	DEEP_SHARE = 2,	       /* half of a ring may be parts of deep stacks */
	KERNEL_IS_TOO_OLD = 1, /* why a program is not loaded; else -errno */
};

static const char *why_not_loaded(int error)
{
	switch (error) {
	case -EPERM:
		return "run as root, or grant CAP_BPF and CAP_PERFMON";
	case KERNEL_IS_TOO_OLD:
		return "this kernel is older than 6.0";
	case -ENOSYS:
		return "this perf-source was built without BPF programs";
	case -EOPNOTSUPP:
		return "this is not the initial PID namespace";
	default:
		return strerror(-error);
	}
}

/*
 * Loads the program of an event, which reads stacks up to a limit (0: perf copies them), and
 * contexts if their program is given. 0 or -errno.
 */
static int load(struct perf_source *self, struct sampled_event *event, uint64_t stack_limit,
		const struct context_program *contexts)
{
	struct sample_program *program = &self->sample_programs[self->n_sample_programs];
	struct sample_filter filter = { 0 };
	struct sample_settings settings = {
		.terms = filter.terms,
		.follow = &self->followed.program,
		.contexts = contexts,
		.has_walks = self->options.has_interpreters,
		.first = self->n_sample_programs ? self->sample_programs : NULL,
		.stack_size = stack_limit ? self->options.stack_size : 0,
		.stack_limit = stack_limit,
	};
	int r = event->filter ? sample_filter_parse(event->filter, &filter, NULL) : 0;

	settings.n = filter.n;
	if (r == 0)
		r = sample_program_load(program, &settings);
	event->filter_program_fd = sample_program_fd(program);
	self->n_sample_programs += r == 0;
	return r;
}

static void unload(struct perf_source *self)
{
	while (self->n_sample_programs)
		sample_program_unload(&self->sample_programs[--self->n_sample_programs]);
}

/* Programs that drop samples: for a filter, or of processes that are not followed. */
static int load_filters(struct stage *stage, struct perf_source *self)
{
	struct event_setup *setup = &self->event_set.setup;
	bool follows = follow_program_is_loaded(&self->followed.program);
	int r = 0;

	for (size_t i = 0; i < setup->n_events && r == 0; i++)
		if (!sampled_event_is_tracepoint(&setup->events[i]) &&
		    (setup->events[i].filter || follows))
			r = load(self, &setup->events[i], 0, NULL);
	if (r == 0)
		return 0;
	stage_error(stage, "could not use --filter: %s", why_not_loaded(r));
	return -ECANCELED;
}

/* All users of a tracepoint share its programs, so it gets none. */
static bool may_read_memory(const struct perf_source *self)
{
	const struct event_setup *setup = &self->event_set.setup;

	for (size_t i = 0; i < setup->n_events; i++)
		if (sampled_event_is_tracepoint(&setup->events[i]))
			return false;
	return user_memory_is_safe();
}

static int load_all(struct perf_source *self, uint64_t stack_limit,
		    const struct context_program *contexts)
{
	struct event_setup *setup = &self->event_set.setup;
	int r = 0;

	for (size_t i = 0; i < setup->n_events && r == 0; i++)
		r = load(self, &setup->events[i], stack_limit, contexts);
	if (r < 0)
		unload(self);
	return r;
}

/*
 * The same programs, which read memory as well: stacks and, if their program is loaded, contexts.
 * False: the kernel does not allow it.
 */
static bool load_readers(struct stage *stage, struct perf_source *self)
{
	const struct context_program *contexts = &self->context_program;
	uint64_t size = self->options.stack_size, limit = self->options.stack_limit;
	int r;

	if (!may_read_memory(self))
		return false;
	if (limit < size)
		limit = size < SAMPLE_PART_MAX ? size : SAMPLE_PART_MAX;
	r = load_all(self, limit, contexts);
	if (r < 0 && r != -EPERM && context_program_is_loaded(contexts)) {
		stage_warn(stage, "contexts of threads are not read: %s", why_not_loaded(r));
		context_program_deinit(&self->context_program);
		r = load_all(self, limit, NULL);
	}
	if (r < 0 && r != -EPERM && r != -ENOSYS)
		stage_warn(stage, "deep stacks are not read: %s", why_not_loaded(r));
	return r == 0;
}

int programs_load(struct stage *stage, struct perf_source *self)
{
	/* Its map is written to while the recording is on: earlier kernels want CAP_BPF for that.
	 */
	if ((!self->options.no_contexts || self->options.has_interpreters) &&
	    may_read_memory(self) && event_kernel_reports_lost())
		context_program_init(&self->context_program);
	self->event_set.setup.has_sample_parts = load_readers(stage, self);
	return self->event_set.setup.has_sample_parts ? 0 : load_filters(stage, self);
}

/* Waits that are sampled as threads are switched out have their contexts as other samples do. */
static void load_of_sampled_waits(struct perf_source *self)
{
	const struct sample_settings settings = {
		.follow = &self->followed.program,
		.contexts = &self->context_program,
		.has_walks = self->options.has_interpreters,
	};

	if (!context_program_is_loaded(&self->context_program) ||
	    sample_program_load(&self->waits_program, &settings) < 0)
		return;
	self->event_set.setup.waits_program_fd = sample_program_fd(&self->waits_program);
	self->event_set.setup.has_wait_parts = true;
}

static int load_switch_program(struct perf_source *self)
{
	struct event_setup *setup = &self->event_set.setup;
	struct switch_program_settings settings = {
		.contexts = &self->context_program,
		.has_walks = self->options.has_interpreters,
	};
	int r;

	if (!event_kernel_reports_lost())
		return KERNEL_IS_TOO_OLD;
	r = switch_program_init(&self->switch_program, &settings);
	setup->has_wait_parts = r == 0 && settings.has_walks;
	if (r < 0 && r != -EPERM && context_program_is_loaded(settings.contexts))
		r = switch_program_init(&self->switch_program,
					&(struct switch_program_settings){ 0 });
	return r;
}

/*
 * With -a, a BPF program pairs switches where possible: from Linux 6.0 on, as earlier kernels let
 * no process without CAP_BPF read even its own maps. Otherwise a tracepoint reports wake-ups, by
 * PIDs of the initial PID namespace, which name other threads in another namespace.
 */
void programs_load_of_waits(struct stage *stage, struct perf_source *self)
{
	struct event_setup *setup = &self->event_set.setup;

	if (self->options.all) {
		int r = load_switch_program(self);

		setup->has_switch_program = r == 0;
		if (r)
			stage_warn(stage,
				   "each context switch is recorded, which costs several times as "
				   "much: %s",
				   why_not_loaded(r));
	}
	if (!setup->has_switch_program)
		load_of_sampled_waits(self);
	if (!setup->has_switch_program && pid_namespace_is_initial())
		tracepoint_find("sched", "sched_waking", &setup->waking_tracepoint);
}

void programs_note_read(struct perf_source *self, enum ring_kind kind, uint32_t cpu, size_t bytes)
{
	for (size_t i = 0; kind == RING_SAMPLES && i < self->n_sample_programs; i++)
		sample_program_note_read(&self->sample_programs[i], cpu, bytes);
	if (kind == RING_WAITS && self->event_set.setup.waits_program_fd >= 0)
		sample_program_note_read(&self->waits_program, cpu, bytes);
}

void programs_forget_objects(struct perf_source *self)
{
	for (size_t i = 0; i < self->n_sample_programs; i++)
		sample_program_forget_objects(&self->sample_programs[i]);
	if (self->event_set.setup.waits_program_fd >= 0)
		sample_program_forget_objects(&self->waits_program);
	if (self->event_set.setup.has_switch_program)
		switch_program_forget_objects(&self->switch_program);
}

int programs_open_outputs(struct perf_source *self)
{
	struct event_set *events = &self->event_set;
	int r = 0;

	self->sample_parts = calloc(events->n_rings, sizeof(*self->sample_parts));
	if (!self->sample_parts)
		return -ENOMEM;
	for (size_t i = 0; i < events->n_cpus && r == 0; i++)
		r = event_set_add_parts(events, i);
	for (size_t i = 0; i < self->n_sample_programs; i++)
		sample_program_set_room(&self->sample_programs[i], events->ring_bytes / DEEP_SHARE);
	if (events->setup.waits_program_fd >= 0)
		sample_program_set_room(&self->waits_program, events->waits_bytes / DEEP_SHARE);
	return r;
}

/* Has programs of samples emit to an event of parts. 0 or -errno. */
static int set_outputs(const struct sample_program *programs, size_t n, uint32_t cpu, int fd)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = sample_program_set_output(&programs[i], cpu, fd);
	return r;
}

/* Of the events of one CPU the last one counts, which was opened last. */
int programs_set_outputs(struct perf_source *self)
{
	struct event_set *events = &self->event_set;
	int r = 0;

	event_set_sort_events(events);
	for (size_t i = 0; i < events->n_events && r == 0; i++) {
		const struct recorded_event *event = &events->events[i];
		uint32_t cpu = events->cpus[event->cpu];

		if (!recorded_event_is_of_parts(event))
			continue;
		merge_expect_parts(&self->merge, event->kind * events->n_cpus + event->cpu,
				   event->id);
		if (event->kind == RING_SAMPLES)
			r = set_outputs(self->sample_programs, self->n_sample_programs, cpu,
					event->fd);
		else if (events->setup.has_switch_program)
			r = switch_program_set_parts_output(&self->switch_program, cpu, event->fd);
		else
			r = set_outputs(&self->waits_program, 1, cpu, event->fd);
	}
	return r;
}
