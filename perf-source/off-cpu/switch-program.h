/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs the waits of all tasks in the kernel: BPF programs (bpf.h) at five tracepoints of the
 * scheduler keep each thread's state, since when it has it, and its waker. They add up times at
 * each switch, and emit only: the stack of a thread switched out (one in many, where waits are
 * short and many) and of its waker; a wait that was long, or that represents short ones, when it is
 * over; the sums of a thread at its exit or exec. A switch costs a few hundred nanoseconds that
 * way; a record of each takes some microseconds (switch-records.c).
 *
 * The programs run at the tracepoints themselves, not at perf's events of them: a program there
 * filters these for all users. Their output goes to events of our own (PERF_COUNT_SW_BPF_OUTPUT).
 * Switches may be missed (seen: a kernel hides those of some tasks): what a thread did then is
 * taken from the scheduler's own account of its time on the CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf-source/off-cpu/wait-threshold.h"

enum {
	SWITCH_PROGRAMS = 5,
	SWITCH_THREADS_MAX = 1 << 16, /* alive at once */

	/* A thread's waits are judged in windows of this many waits, */
	SWITCH_WINDOW_WAITS = 64,
	SWITCH_WINDOW_NS = 1280000000, /* or of this long. After one that fills up earlier, */
	SWITCH_LONG_SHARE = 20,	       /* unless long waits are more than a 20th of its waiting, */
	SWITCH_THINNING_MAX = 12,      /* only 25 to 50 waits a second are looked at: 1 in 2^n */
};

/* An ended thread is kept until its last switch is surely over, which would add it anew. */
enum switch_state { SWITCH_AWAY, SWITCH_RUNNING, SWITCH_ENDED };

/* All since the thread began, or since its exec. */
struct switch_sums {
	uint64_t on_ns, off_ns, n_waits;
	uint64_t short_ns;   /* of waits below the threshold */
	uint64_t sampled_ns; /* the part of those that emitted waits represent */
};

/* What the programs keep of a thread. */
struct switch_thread {
	uint64_t born; /* when it was added: distinguishes it from others with its TID */
	uint64_t since;
	uint64_t runtime; /* its CPU time by the scheduler's account, then */
	uint32_t state;
	uint32_t pid;
	uint64_t flags; /* enum wire_sample_flags, of the wait */
	uint64_t waker; /* of the wait: TID, and PID above that; 0: unknown */
	uint64_t place; /* address of the context of the program that set `waker` */
	struct switch_sums sums;
	uint64_t thinning;     /* one wait in 2^thinning, chosen at random, is looked at: */
	uint64_t is_looked_at; /* its stack is taken, and it represents those before it */
	uint64_t to_pass;      /* waits until the next such one, */
	uint64_t passed;       /* and short waits since the last */
	struct short_waits short_waits;
	struct short_waits woken_short_waits; /* until it is woken */
	uint64_t window_since, window_n, window_ns, window_long_ns;
};

/* Follows a stack. */
struct switch_stack {
	uint64_t woken_ns; /* of a waker: how long the woken thread had waited; 0: switched out */
	uint64_t flags;	   /* enum wire_sample_flags, of a waker */
};

enum { SWITCH_LOOK_CUT = 1 }; /* of switch_program_each() */

enum switch_event_kind {
	SWITCH_WAITED,	/* a long wait, `from` to `until` */
	SWITCH_SAMPLED, /* a short wait, which represents `weight` of the sums */
	SWITCH_LEFT,	/* exit or exec: the final sums */
};

/* The data of a record. */
struct switch_event {
	uint32_t kind, tid;
	uint64_t pid, flags, born, waker;
	uint64_t from, until, weight;
	struct switch_sums sums;
};

struct switch_settings;

struct switch_program {
	int threads_fd, settings_fd, stacks_fd, events_fd; /* maps */
	struct switch_settings *settings;		   /* shared with the programs */
	uint32_t pid_offset, start_offset, runtime_offset, stack_offset; /* in task_struct */
	uint32_t call_offset; /* of orig_ax in pt_regs, not negative in a system call; 0: none */
	int fds[SWITCH_PROGRAMS];
	size_t n;
	int attached_fds[SWITCH_PROGRAMS]; /* closing one detaches the program */
	size_t n_attached;
};

/*
 * Makes the maps and the programs. 0 or -errno: -EPERM: it takes CAP_BPF and CAP_PERFMON; -ENOENT:
 * the kernel has no type information; -ENOSYS, -EINVAL, -EACCES: it rejects them; -EOPNOTSUPP: not
 * in the initial PID namespace. `n_cpus` is one more than the highest CPU's number.
 */
int switch_program_init(struct switch_program *program, size_t n_cpus);
void switch_program_deinit(struct switch_program *program);

/* Sets the events of type BPF_OUTPUT for a CPU's stacks and other records. 0 or -errno. */
int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event);

/* Attaches the programs; threads that exist already are known since `begun`. 0 or -errno. */
int switch_program_start(struct switch_program *program, uint64_t begun, uint64_t threshold_ns);

/* Detaches the programs: nothing changes any more. */
void switch_program_stop(struct switch_program *program);

void switch_program_set_threshold(struct switch_program *program, uint64_t threshold_ns);

/* Deletes a thread that has exited. */
void switch_program_forget(struct switch_program *program, uint32_t tid);

/*
 * Calls `each` for each thread as it is now. 0, -errno, or SWITCH_LOOK_CUT: so many threads began
 * and ended meanwhile that some may have been missed, and some may have come twice.
 */
int switch_program_each(struct switch_program *program,
			int (*each)(uint32_t tid, const struct switch_thread *thread, void *arg),
			void *arg);

/* How often a thread had no room, and how many switches did not fit a thread's known state. */
void switch_program_count(const struct switch_program *program, uint64_t *ret_refused,
			  uint64_t *ret_contradictions);
