/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks of the scheduler: which thread ran where, and how long, from the kernel's records of
 * switches; and of processes: how long each program has lived that began or ended meanwhile. A
 * mark is told when it is over.
 */
#pragma once

#include "common/source/processes.h"
#include "common/source/perf-record.h"
#include "common/stage/stage.h"

enum { SCHEDULER_CPUS_MAX = 4096, SCHEDULER_LIVES_MAX = 1 << 17 };

struct scheduler_cpu {
	uint32_t pid, tid; /* who runs there; 0: nobody, or it is not known */
	uint64_t since;
};

struct scheduler_life;

struct scheduler {
	struct stage *stage;	     /* borrowed */
	struct processes *processes; /* borrowed */
	struct scheduler_cpu cpus[SCHEDULER_CPUS_MAX];
	struct scheduler_life *lives; /* by PID */
	uint64_t begun_at; /* programs that were there before are known since then; UINT64_MAX: not
			    */
	uint64_t n_refused;
};

/* NULL: no memory. */
struct scheduler *scheduler_new(struct stage *stage, struct processes *processes);
void scheduler_free(struct scheduler *scheduler);

/* Each takes a record in: 0 or -errno of the output. Tasks in front of what processes.h makes of
 * it. */
int scheduler_take_switch(struct scheduler *scheduler, const struct perf_event_header *header,
			  uint64_t time);
int scheduler_take_task(struct scheduler *scheduler, const struct perf_event_header *header,
			uint64_t time);

/* Records of switches were lost: who runs is not known. */
void scheduler_take_lost(struct scheduler *scheduler);

/* The recording is over: who runs has run until now, and who lives has lived. */
int scheduler_finish(struct scheduler *scheduler, uint64_t time);
