/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/clock.h"
#include "perf-source/missing.h"
#include "perf-source/perf-source.h"

enum {
	TOLERANCE_PART = 50, /* of the expected samples; fewer missing are chance */
	MISSING_MIN = 25,    /* samples; of 60 builds with 500 samples, some missed 10 by chance */
};

/* Events of a command that exits hang up no earlier than this before the recording stops. */
#define END_TO_STOP_NS (100 * NANOSECONDS_A_MILLISECOND)

static void add(struct cpu_time *sum, struct cpu_time time)
{
	sum->user_ns += time.user_ns;
	sum->kernel_ns += time.kernel_ns;
}

/*
 * Of the processes of -p that still exist; with their children, unless some existed at the
 * beginning: their CPU time before it would be counted when they exit.
 */
static struct cpu_time of_processes(const struct perf_source *self)
{
	struct cpu_time sum = { 0 }, time, children;

	for (size_t i = 0; i < self->options.n_pids; i++) {
		if (cpu_time_of_process(self->options.pids[i], &time, &children) < 0)
			continue;
		add(&sum, time);
		if (!self->missing.had_children[i])
			add(&sum, children);
	}
	return sum;
}

int missing_init(struct perf_source *self)
{
	struct missing *missing = &self->missing;

	*missing = (struct missing){
		.throttled_since =
			calloc(self->event_set.n_rings, sizeof(*missing->throttled_since)),
		.had_children = calloc(self->options.n_pids + 1, sizeof(*missing->had_children)),
	};
	if (!missing->throttled_since || !missing->had_children)
		return -ENOMEM;
	for (size_t i = 0; i < self->options.n_pids; i++)
		missing->had_children[i] = cpu_time_has_children(self->options.pids[i]);
	missing->begun = of_processes(self);
	return 0;
}

void missing_deinit(struct missing *missing)
{
	free(missing->throttled_since);
	free(missing->had_children);
	missing->throttled_since = NULL;
	missing->had_children = NULL;
}

static uint64_t samples_in(const struct perf_source *self, uint64_t ns)
{
	return (double)ns * self->options.rate / NANOSECONDS_A_SECOND;
}

void missing_take_throttle(struct perf_source *self, struct stage *stage, uint32_t type,
			   size_t ring, uint64_t time)
{
	uint64_t *since = &self->missing.throttled_since[ring];

	if (type == PERF_RECORD_THROTTLE) {
		++*counters_get(&stage->counters, "events", "throttled");
		*since = time;
		return;
	}
	if (*since && time > *since) {
		self->missing.throttled_ns += time - *since;
		self->missing.n_throttled += samples_in(self, time - *since);
	}
	*since = 0;
}

/* CPU time since the recording began; both parts 0: unknown. */
static struct cpu_time spent(const struct perf_source *self)
{
	struct cpu_time time = { 0 }, begun = self->missing.begun;

	if (self->options.command && !self->options.n_pids) {
		cpu_time_of_child(self->command.pid, &time);
		return time;
	}
	time = of_processes(self);
	if (time.user_ns < begun.user_ns || time.kernel_ns < begun.kernel_ns)
		return (struct cpu_time){ 0 }; /* some have exited */
	return (struct cpu_time){ time.user_ns - begun.user_ns, time.kernel_ns - begun.kernel_ns };
}

/* When the kernel removed the command's events, while it ran; 0: it did not. */
static uint64_t hidden_since(const struct perf_source *self)
{
	uint64_t hung_up_at = self->missing.hung_up_at;

	return hung_up_at && clock_now(CLOCK_MONOTONIC) - hung_up_at > END_TO_STOP_NS ? hung_up_at
										      : 0;
}

static void emit(struct perf_source *self, struct stage *stage, uint64_t n, uint64_t expected)
{
	uint64_t hidden = hidden_since(self);

	stage_miss(stage, "not-sampled", n);
	if (hidden)
		stage_warn(
			stage,
			"%" PRIu64 " of %" PRIu64
			" samples are missing: from %.3f s on, the command was a program that runs "
			"as another user or is not readable: record it as root",
			n, expected, (hidden - self->start_time) / 1e9);
	else if (self->follows)
		stage_warn(stage,
			   "%" PRIu64 " of %" PRIu64
			   " samples are missing: CPUs were offline or too busy",
			   n, expected);
	else if (self->options.has_waits)
		stage_warn(
			stage,
			"%" PRIu64 " of %" PRIu64
			" samples are missing: with --off-cpu, threads that live for less than a "
			"sampling period get none; or CPUs were too busy",
			n, expected);
	else
		stage_warn(
			stage,
			"%" PRIu64 " of %" PRIu64
			" samples are missing: without root (or CAP_PERFMON and CAP_BPF), threads "
			"that live for less than a sampling period and programs of other users "
			"(set-user-ID) get none; or CPUs were too busy",
			n, expected);
}

/* Counts up to `n` of the missing samples with a known cause; returns how many are left. */
static uint64_t drop_known(struct stage *stage, const char *reason, uint64_t n, uint64_t missing)
{
	n = n < missing ? n : missing;
	if (n)
		stage_miss(stage, reason, n);
	return missing - n;
}

/* How often an event occurred while it was throttled, nobody has counted. */
static void tell_throttled(const struct perf_source *self, struct stage *stage,
			   const struct sampled_event *event)
{
	if (event->count && self->missing.throttled_ns)
		stage_warn(stage,
			   "samples of %.3f s (of one or the other CPU) are missing: the kernel "
			   "throttled events that occurred too often: take fewer samples (-c)",
			   self->missing.throttled_ns / 1e9);
}

void missing_emit(struct perf_source *self, struct stage *stage, uint64_t lost)
{
	const struct event_setup *setup = &self->event_set.setup;
	struct cpu_time time;
	uint64_t of_events, expected, missing;

	tell_throttled(self, stage, &setup->events[0]);
	if (!sampled_event_is_clock(&setup->events[0]) || setup->events[0].count ||
	    setup->events[0].filter)
		return;
	if (self->options.all) {
		if (self->missing.n_throttled)
			stage_miss(stage, "throttled", self->missing.n_throttled);
		return;
	}
	time = spent(self);
	of_events = self->follows ? 0 : event_set_time(&self->event_set);
	expected = samples_in(self, time.user_ns + time.kernel_ns > of_events
					    ? time.user_ns + time.kernel_ns
					    : of_events);
	if (expected <= self->missing.n_sampled + lost)
		return;
	missing = expected - self->missing.n_sampled - lost;
	missing = drop_known(stage, "throttled", self->missing.n_throttled, missing);
	if (setup->no_kernel)
		missing =
			drop_known(stage, "kernel-side", samples_in(self, time.kernel_ns), missing);
	if (missing >= MISSING_MIN && missing >= expected / TOLERANCE_PART)
		emit(self, stage, missing, expected);
}
