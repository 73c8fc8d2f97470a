/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Samples that were never taken. A clock samples the CPU time of who is recorded, so many times a
 * second: where the kernel's own account (cpu-time.h) has more, the rest is told as any other loss,
 * with what is known of its cause.
 *
 * - Events of tasks begin their period anew with each task: of threads that live shorter than a
 *   period, most have no sample. Those of CPUs (followed.h) have no such gap.
 * - The kernel takes events away from a program that runs as another user or may not be read, as
 *   soon as it is executed (execve(2)). Those of the command hang up then.
 * - Without privileges the kernel's side is not sampled.
 * - A kernel that is asked for too much throttles an event for a while.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/source/perf-record.h"
#include "common/stage/stage.h"
#include "perf-source/cpu-time.h"

struct perf_source;

struct missing {
	struct cpu_time begun;	   /* of the processes that are attached to */
	bool *had_children;	   /* of each of those: children that had begun before */
	uint64_t n_sampled;	   /* of the first event */
	uint64_t hung_up_at;	   /* when the command's events did; 0: not yet */
	uint64_t n_throttled;	   /* samples, if what was throttled had run all the time */
	uint64_t *throttled_since; /* by ring; 0: it is not */
};

/* When everything is open. 0 or -ENOMEM. */
int missing_init(struct perf_source *self);
void missing_deinit(struct missing *missing);

/* An event is throttled, or not any more. */
void missing_take_throttle(struct perf_source *self, struct stage *stage, uint32_t type,
			   size_t ring, uint64_t time);

/* At the end, `lost` samples have been counted: counts what is missing beside them, and says so. */
void missing_emit(struct perf_source *self, struct stage *stage, uint64_t lost);
