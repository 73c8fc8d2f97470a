/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Marks of --scheduler: which thread ran where, and how long, from the kernel's records of
 * switches; and how long each program lived that began or ended while recording. A mark is emitted
 * when it is over.
 */
#pragma once

#include "common/source/perf-record.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"

enum { SCHEDULER_CPUS_MAX = 4096, SCHEDULER_LIVES_MAX = 1 << 17 };

struct scheduler_cpu {
	uint32_t pid, tid; /* the running thread; 0: none, or unknown */
	uint64_t since;
};

struct scheduler_life;

struct scheduler {
	struct stage *stage;	     /* borrowed */
	struct processes *processes; /* borrowed */
	struct scheduler_cpu cpus[SCHEDULER_CPUS_MAX];
	struct scheduler_life *lives; /* by PID */
	uint64_t begun_at;	      /* since when older programs are known; UINT64_MAX: unknown */
	uint64_t n_refused;
};

/* NULL: no memory. */
struct scheduler *scheduler_new(struct stage *stage, struct processes *processes);
void scheduler_free(struct scheduler *scheduler);

/* Each takes a record, task records before processes.h does. 0 or -errno of the output. */
int scheduler_take_switch(struct scheduler *scheduler, const struct perf_event_header *header,
			  uint64_t time);
int scheduler_take_task(struct scheduler *scheduler, const struct perf_event_header *header,
			uint64_t time);

/* Records of switches were lost: the running threads are unknown. */
void scheduler_take_lost(struct scheduler *scheduler);

/* At the end: threads have run, and programs have lived, until `time`. */
int scheduler_finish(struct scheduler *scheduler, uint64_t time);
