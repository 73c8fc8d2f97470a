/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples that were never taken. A clock samples CPU time at a fixed rate: where the kernel's own
 * account (cpu-time.h) has more time than samples, the rest is reported as lost, by cause if known:
 *
 * - Events of tasks begin their period anew with each task: most threads that live shorter than a
 *   period have no sample. CPU-wide events (followed.h) have no such gap.
 * - At execve(2) of a program that runs as another user or may not be read, the kernel removes its
 *   events. Those of the command hang up then.
 * - Without privileges the kernel is not sampled.
 * - An overloaded kernel throttles an event for a while.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/source/perf-record.h"
#include "common/stage/stage.h"
#include "perf-source/cpu-time.h"

struct perf_source;

struct missing {
	struct cpu_time begun;	   /* of the processes of -p, at the beginning */
	bool *had_children;	   /* by process of -p: whether it had any at the beginning */
	uint64_t n_sampled;	   /* samples of the first event */
	uint64_t hung_up_at;	   /* when the command's events hung up; 0: not yet */
	uint64_t n_throttled;	   /* samples, if the throttled tasks ran all the time */
	uint64_t throttled_ns;	   /* of all CPUs */
	uint64_t *throttled_since; /* by ring; 0: not throttled */
};

/* To be called when all events are open. 0 or -ENOMEM. */
int missing_init(struct perf_source *self);
void missing_deinit(struct missing *missing);

/* Takes a PERF_RECORD_THROTTLE or PERF_RECORD_UNTHROTTLE. */
void missing_take_throttle(struct perf_source *self, struct stage *stage, uint32_t type,
			   size_t ring, uint64_t time);

/* At the end: counts and reports samples that are missing beside the `lost` ones. */
void missing_emit(struct perf_source *self, struct stage *stage, uint64_t lost);
