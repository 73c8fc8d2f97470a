/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits: how long a thread was away from the CPU, and with which stack it had left.
 *
 * Of all tasks, waits are paired in the kernel (switch-program.h); elsewhere it tells of each
 * switch, out and in, in a small record (PERF_RECORD_SWITCH…), and takes a sample of who is
 * switched out (the event context-switches). Stacks and the rest have rings of their own: a stack
 * that finds no room costs that wait its stack, but time is still exact. When a thread comes back,
 * its wait is told as a sample that weighs the nanoseconds it was away, at the time when it came
 * back. Waits below a threshold are sampled (wait-threshold.h); what is left of them, and those
 * without a stack, are summed, a thread at a time.
 *
 * Who ends a wait, by waking the thread, is known too, and what he did then: a wakeup is a sample
 * of him, of an event of its own, that weighs the nanoseconds that the other one had waited until
 * then (wakeups.c).
 *
 * Events are given in the order of their times. A stack stays where the kernel has put it until
 * off_cpu_keep(): only the few that are still needed then are copied.
 */
#pragma once

#include "common/source/processes.h"
#include "common/source/record.h"
#include "common/stage/stage.h"
#include "perf-source/perf/tracepoint.h"
#include "perf-source/off-cpu/wait-threshold.h"

#define OFF_CPU_TELL_NS 1000000000ULL	/* sums are told no later than this */
#define OFF_CPU_FORGET_NS 5000000000ULL /* threads that the kernel's program has not any more */

enum {
	OFF_CPU_THREADS_MAX = 1 << 17,
	OFF_CPU_KEPT_MAX = 128 * 1024 * 1024, /* bytes of stacks of threads that are away */
};

struct off_cpu_thread;
struct switch_program;

/* A function of the kernel: its addresses; 0: not known. */
struct off_cpu_function {
	uint64_t start, end;
};

struct off_cpu {
	struct stage *stage;		/* borrowed */
	struct processes *processes;	/* borrowed */
	struct switch_program *program; /* borrowed; NULL: each switch is told, and paired here */
	struct off_cpu_function leaving, waking; /* where the kernel meets the program */
	uint32_t event, wakeup_event;		 /* by which samples name them */
	uint64_t begun_at;		 /* threads that were there before are known since then */
	uint64_t told_at;		 /* sums, last */
	struct wait_threshold threshold; /* a wait that is shorter is only summed */
	struct tracepoint_field woken;	 /* in the data of sched:sched_waking */
	struct off_cpu_thread *threads;	 /* by TID */
	struct off_cpu_thread *borrowed; /* whose stacks lie in the rings */
	struct off_cpu_thread *gone;	 /* what the writer may still borrow of them */
	size_t kept_bytes;
	uint64_t n_stacks;					 /* that the kernel took */
	uint64_t n_samples, n_sampled, n_short, n_without_stack; /* waits: told, and not */
	uint64_t n_wakeups;
	uint64_t n_contradictions; /* switches that do not fit what is known */
	uint64_t n_threads_refused, n_stacks_refused;
};

/*
 * `event` is the number that samples name waits by, and the next one that of wakeups; `n_cpus` are
 * recorded. `least_ns` 0: what is usual, and the threshold rises where there are too many waits.
 */
void off_cpu_init(struct off_cpu *off_cpu, struct stage *stage, struct processes *processes,
		  uint32_t event, size_t n_cpus, uint64_t least_ns);
void off_cpu_deinit(struct off_cpu *off_cpu);

/* What was before does not count. 0 or -errno of the program. */
int off_cpu_begin(struct off_cpu *off_cpu, uint64_t time);

/*
 * Each takes a record in: 0 or -errno of the output or of memory. `sample` is of who goes, or what
 * the kernel's program tells of who wakes.
 */
int off_cpu_take_stack(struct off_cpu *off_cpu, const struct record_sample *sample);

/* Of sched:sched_waking, without that program; the sample is of who wakes. */
int off_cpu_take_waking(struct off_cpu *off_cpu, const struct record_sample *sample);

/*
 * switch-events.c: what the program in the kernel tells. Its own frames lead to each stack: they
 * are left out, up to the function that it was met in, whose place /proc/kallsyms tells.
 */
void off_cpu_find_functions(struct off_cpu *off_cpu, const char *kallsyms, size_t size);
int off_cpu_take_event(struct off_cpu *off_cpu, const struct record_raw *raw);

/* What the program tells next of it is of what it was before; in front of processes.h, too. */
int off_cpu_note_exec(struct off_cpu *off_cpu, const struct record_comm *comm, uint64_t time);

/*
 * switch-records.c: what is told without it. Tasks come in front of what processes.h makes of the
 * same record.
 */
int off_cpu_take_switch(struct off_cpu *off_cpu, const struct perf_event_header *header,
			uint64_t time);
int off_cpu_take_fork(struct off_cpu *off_cpu, const struct record_task *task, uint64_t time);
int off_cpu_take_exit(struct off_cpu *off_cpu, const struct record_task *task, uint64_t time);
int off_cpu_take_exec(struct off_cpu *off_cpu, const struct record_comm *comm, uint64_t time);

/*
 * Records were lost: of switches (nobody knows any more who is away), or of side-band (threads may
 * have begun and ended).
 */
int off_cpu_take_lost_switches(struct off_cpu *off_cpu, uint64_t time);
void off_cpu_take_lost_tasks(struct off_cpu *off_cpu, uint64_t time);

/* All that was put has been written, and the kernel is to get its rings back. */
void off_cpu_keep(struct off_cpu *off_cpu);

/* Every OFF_CPU_TELL_NS, tells what was summed. */
int off_cpu_tell_sums(struct off_cpu *off_cpu, uint64_t time);

/*
 * The recording is over, and so is the program: who is away still is, and who runs has run until
 * now.
 */
int off_cpu_finish(struct off_cpu *off_cpu, uint64_t time);
