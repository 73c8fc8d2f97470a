/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processes a recording is of, where its events are those of CPUs and not of tasks: whoever
 * was named, and all that they fork. An event of a task begins its period anew with each task, and
 * is taken away from programs of other users; opening one for each thread takes seconds on a busy
 * machine. None of that is so for events of CPUs. The kernel drops samples of others where it can
 * (follow-program.h); else that is done here, as always with what is told beside samples.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "perf-source/follow-program.h"

enum { FOLLOWED_MAX = 1 << 20 };

struct followed {
	struct pair_map pids; /* (PID, 0) → whether its first thread has ended */
	uint32_t awaited;     /* a command that was not executed yet: nothing of it counts; or 0 */
	struct follow_program program;
	uint64_t n_refused;
};

/* With a program in the kernel, if that can be had. */
void followed_init(struct followed *followed);
void followed_deinit(struct followed *followed);

/* 0 or -errno. */
int followed_add(struct followed *followed, uint32_t pid);

/* The same of a command, which counts from when it is executed. */
int followed_add_command(struct followed *followed, uint32_t pid);

bool followed_has(const struct followed *followed, uint32_t pid);

/* The same of a sample, whose task may have no PID any more: then the kernel alone has known. */
bool followed_has_sample(const struct followed *followed, uint32_t pid);

/* Whether a record that is no sample is of one of them; others are of no concern. */
bool followed_concerns(const struct followed *followed, const struct perf_event_header *header);

/* The same, in the order of time: who is forked is followed, too. */
bool followed_take(struct followed *followed, const struct perf_event_header *header);
