/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that a recording with CPU-wide events is of: those that were named, and all that
 * they fork. An event of a task begins its period anew with each task and is removed from programs
 * of other users; opening one for each thread takes seconds on a busy machine. CPU-wide events have
 * none of these faults. The kernel drops samples of other processes if it can (follow-program.h);
 * else they are dropped here, as other processes' side-band records always are.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "perf-source/bpf/follow-program.h"

enum { FOLLOWED_MAX = 1 << 20 };

struct followed {
	struct pair_map pids; /* (PID, 0) → whether its first thread has exited */
	uint32_t awaited;     /* a command, of which nothing counts until its exec; 0: none */
	struct follow_program program;
	uint64_t n_refused;
};

/* Loads the BPF program of follow-program.h if that is possible. */
void followed_init(struct followed *followed);
void followed_deinit(struct followed *followed);

/* 0 or -errno. */
int followed_add(struct followed *followed, uint32_t pid);

/* The same for a command, which counts only from its exec on. */
int followed_add_command(struct followed *followed, uint32_t pid);

bool followed_has(const struct followed *followed, uint32_t pid);

/* The same for a sample, whose task may have no PID any more: then the BPF program has decided. */
bool followed_has_sample(const struct followed *followed, uint32_t pid);

/* Whether a record other than a sample is of a followed process, or of no process. */
bool followed_concerns(const struct followed *followed, const struct perf_event_header *header);

/* The same for records in time order; also updates the set at forks, execs and exits. */
bool followed_take(struct followed *followed, const struct perf_event_header *header);
