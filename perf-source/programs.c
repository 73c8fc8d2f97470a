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
	SAMPLES_SHARE = 4, /* a 4th of a ring has neither parts of deep stacks nor objects */
	/* Why a program is not loaded; else -errno. */
	KERNEL_IS_TOO_OLD = 1,
	MEMORY_IS_NOT_READ,
};

static const char *why_not_loaded(int error)
{
	switch (error) {
	case -EPERM:
		return "run as root, or grant CAP_BPF and CAP_PERFMON";
	case KERNEL_IS_TOO_OLD:
		return "this kernel is older than 6.0";
	case MEMORY_IS_NOT_READ:
		return "a tracepoint is sampled, or reading memory may hang this kernel";
	case -ENOSYS:
		return "this perf-source was built without BPF programs";
	case -EOPNOTSUPP:
		return "this is not the initial PID namespace";
	default:
		return strerror(-error);
	}
}

/* Unless there is a reason why not, which is a message once there is an interpreter. */
static bool reads_interpreters(const struct perf_source *self)
{
	return !self->options.no_interpreters && !self->why_no_interpreters;
}

/* The same of stacks that the kernel walks. */
static bool walks_stacks(const struct perf_source *self)
{
	return self->options.unwind != UNWIND_MODE_COPY && !self->why_no_kernel_walks;
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
		.has_walks = reads_interpreters(self),
		.first = self->n_sample_programs ? self->sample_programs : NULL,
		.stack_size = stack_limit ? self->options.stack_size : 0,
		.stack_limit = stack_limit,
		.walks_stacks = walks_stacks(self),
		.judged_every = self->options.judged_every,
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

	if (!may_read_memory(self)) {
		self->why_no_kernel_walks = why_not_loaded(MEMORY_IS_NOT_READ);
		return false;
	}
	if (!pid_namespace_is_initial())
		self->why_no_kernel_walks = why_not_loaded(-EOPNOTSUPP);
	if (limit < size)
		limit = size < SAMPLE_PART_MAX ? size : SAMPLE_PART_MAX;
	r = load_all(self, limit, contexts);
	if (r < 0 && r != -EPERM && walks_stacks(self)) {
		self->why_no_kernel_walks = why_not_loaded(r);
		r = load_all(self, limit, contexts);
	}
	if (r < 0 && r != -EPERM && reads_interpreters(self)) {
		self->why_no_interpreters = why_not_loaded(r);
		r = load_all(self, limit, contexts);
	}
	if (r < 0 && r != -EPERM && context_program_is_loaded(contexts)) {
		stage_warn(stage, "contexts of threads are not read: %s", why_not_loaded(r));
		context_program_deinit(&self->context_program);
		r = load_all(self, limit, NULL);
	}
	if (r < 0 && r != -EPERM && r != -ENOSYS)
		stage_warn(stage, "deep stacks are not read: %s", why_not_loaded(r));
	if (r < 0)
		self->why_no_interpreters = self->why_no_kernel_walks = why_not_loaded(r);
	return r == 0;
}

/* Its maps are written to while the recording is on: kernels before 6.0 want CAP_BPF for that. */
static int load_context_program(struct perf_source *self)
{
	if (self->options.no_contexts && self->options.no_interpreters)
		return 0;
	if (!event_kernel_reports_lost())
		return KERNEL_IS_TOO_OLD;
	if (!may_read_memory(self))
		return MEMORY_IS_NOT_READ;
	return context_program_init(&self->context_program,
				    reads_interpreters(self) ? WALK_PROGRAMS_MAX : 0);
}

int programs_load(struct stage *stage, struct perf_source *self)
{
	int r = load_context_program(self);

	if (r)
		self->why_no_interpreters = why_not_loaded(r);
	self->event_set.setup.has_sample_parts = load_readers(stage, self);
	if (self->options.needs_interpreters && self->why_no_interpreters) {
		stage_error(stage, "functions of scripts cannot be recorded: %s",
			    self->why_no_interpreters);
		return -ECANCELED;
	}
	if (self->options.unwind == UNWIND_MODE_KERNEL && self->why_no_kernel_walks) {
		stage_error(stage, "stacks cannot be unwound in the kernel: %s",
			    self->why_no_kernel_walks);
		return -ECANCELED;
	}
	return self->event_set.setup.has_sample_parts ? 0 : load_filters(stage, self);
}

int programs_begin_walks(struct perf_source *self)
{
	struct table_cache cache = { -1 };

	if (!self->n_sample_programs || !self->event_set.setup.has_sample_parts ||
	    !walks_stacks(self))
		return 0;
	self->looked_at = calloc(self->event_set.n_cpus, sizeof(*self->looked_at));
	if (!self->looked_at)
		return -ENOMEM;
	if (!self->options.no_cache)
		table_cache_open(&cache);
	return kernel_walks_init(&self->kernel_walks, &self->sample_programs[0], &self->processes,
				 &self->images, cache);
}

/* Waits that are sampled as threads are switched out have their contexts as other samples do. */
static void load_of_sampled_waits(struct perf_source *self)
{
	const struct sample_settings settings = {
		.follow = &self->followed.program,
		.contexts = &self->context_program,
		.has_walks = reads_interpreters(self),
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
		.has_walks = reads_interpreters(self),
	};
	int r;

	if (!event_kernel_reports_lost())
		return KERNEL_IS_TOO_OLD;
	r = switch_program_init(&self->switch_program, &settings);
	setup->has_wait_parts =
		r == 0 && settings.has_walks && context_program_is_loaded(settings.contexts);
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
	const struct event_setup *setup = &self->event_set.setup;

	for (size_t i = 0; kind == RING_SAMPLES && i < self->n_sample_programs; i++)
		ring_share_note_read(sample_program_share(&self->sample_programs[i]), cpu, bytes);
	if (kind == RING_WAITS && setup->waits_program_fd >= 0)
		ring_share_note_read(sample_program_share(&self->waits_program), cpu, bytes);
	if (kind == RING_WAITS && setup->has_switch_program)
		ring_share_note_read(switch_program_share(&self->switch_program), cpu, bytes);
}

uint64_t programs_count_left(const struct perf_source *self)
{
	const struct event_setup *setup = &self->event_set.setup;
	uint64_t n = 0;

	for (size_t i = 0; i < self->n_sample_programs; i++)
		n += sample_program_share(&self->sample_programs[i])->n_left;
	if (setup->waits_program_fd >= 0)
		n += sample_program_share(&self->waits_program)->n_left;
	if (setup->has_switch_program)
		n += switch_program_share(&self->switch_program)->n_left;
	return n;
}

/* How much of a ring parts may fill that single samples have many of. */
static size_t share_of(size_t ring_bytes)
{
	return ring_bytes - ring_bytes / SAMPLES_SHARE;
}

static void set_shares(struct perf_source *self)
{
	const struct event_set *events = &self->event_set;
	size_t of_waits = share_of(events->waits_bytes);

	for (size_t i = 0; i < self->n_sample_programs; i++)
		ring_share_set_max(sample_program_share(&self->sample_programs[i]),
				   share_of(events->ring_bytes));
	if (events->setup.waits_program_fd >= 0)
		ring_share_set_max(sample_program_share(&self->waits_program), of_waits);
	if (events->setup.has_switch_program)
		ring_share_set_max(switch_program_share(&self->switch_program), of_waits);
}

/* Has programs of samples emit to an event of parts. 0 or -errno. */
static int set_outputs(const struct sample_program *programs, size_t n, uint32_t cpu, int fd)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = sample_program_set_output(&programs[i], cpu, fd);
	return r;
}

/* Has the programs of an event's ring emit to it. 0 or -errno. */
static int set_output(struct perf_source *self, const struct recorded_event *event)
{
	struct event_set *events = &self->event_set;
	uint32_t cpu = events->cpus[event->cpu];

	merge_expect_parts(&self->merge, event->kind * events->n_cpus + event->cpu, event->id);
	if (event->kind == RING_SAMPLES)
		return set_outputs(self->sample_programs, self->n_sample_programs, cpu, event->fd);
	if (events->setup.has_switch_program)
		return switch_program_set_parts_output(&self->switch_program, cpu, event->fd);
	return set_outputs(&self->waits_program, 1, cpu, event->fd);
}

int programs_set_outputs(struct perf_source *self, size_t first)
{
	struct event_set *events = &self->event_set;
	int r = 0;

	for (size_t i = first; i < events->n_events && r == 0; i++)
		if (recorded_event_is_of_parts(&events->events[i]))
			r = set_output(self, &events->events[i]);
	return r;
}

int programs_open_outputs(struct perf_source *self)
{
	struct event_set *events = &self->event_set;
	size_t n_before = events->n_events;
	int r = 0;

	self->sample_parts = calloc(events->n_rings, sizeof(*self->sample_parts));
	if (!self->sample_parts)
		return -ENOMEM;
	set_shares(self);
	for (size_t i = 0; i < events->n_cpus && r == 0; i++)
		r = event_set_add_parts(events, i);
	return r < 0 ? r : programs_set_outputs(self, n_before);
}
