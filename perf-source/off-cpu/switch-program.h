/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits that are paired in the kernel, of all tasks: small programs (bpf.h) at five tracepoints of
 * the scheduler keep for each thread since when it runs or is away, and who has woken it. At each
 * switch they add up, and only what is worth it becomes a record: the stack of who goes, of one in
 * many where waits are short and many, and of who wakes it; a wait that was long, or that is a
 * sample of short ones, when it is over; the sums of a thread that ends, or becomes another
 * program. A switch costs a few hundred nanoseconds that way; to tell of each takes some
 * microseconds (switch-records.c).
 *
 * The programs run at the tracepoints themselves, not at perf's events of them: a program there
 * decides what all others see. Their output goes to events of our own (PERF_COUNT_SW_BPF_OUTPUT).
 * Not every switch need be heard of (a kernel may hide those of some tasks: seen): what a thread
 * has done then is taken from the scheduler's own account of its time on the CPU.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf-source/off-cpu/wait-threshold.h"

enum {
	SWITCH_PROGRAMS = 5,
	SWITCH_THREADS_MAX = 1 << 16, /* alive at once */

	/* A thread's waits are looked at so many at a time. */
	SWITCH_WINDOW_WAITS = 64,
	SWITCH_WINDOW_NS = 1280000000, /* or after so long; if there were so many before that, */
	SWITCH_LONG_SHARE = 20,	       /* and what was long is less than so many a part, only 25 */
	SWITCH_THINNING_MAX = 12,      /* to 50 of them a second are looked at */
};

/* What has ended is kept until it has surely gone: it would be taken for another one. */
enum switch_state { SWITCH_AWAY, SWITCH_RUNNING, SWITCH_ENDED };

/* All since the thread began, or became another program. */
struct switch_sums {
	uint64_t on_ns, off_ns, n_waits;
	uint64_t short_ns;   /* of waits below the threshold */
	uint64_t sampled_ns; /* of those what was told with one that stands for them */
};

/* What the kernel keeps of a thread. */
struct switch_thread {
	uint64_t born; /* when it began to be kept: tells it from another one with its number */
	uint64_t since;
	uint64_t runtime; /* by the scheduler's account, then */
	uint32_t state;
	uint32_t pid;
	uint64_t flags; /* enum wire_sample_flags, of the wait */
	uint64_t waker; /* who has ended it: TID, and PID above that; 0: not known */
	uint64_t place; /* where the program ran that looked for that */
	struct switch_sums sums;
	uint64_t thinning;     /* one wait in 2^thinning, chosen at random, is looked at: */
	uint64_t is_looked_at; /* its stack is taken, and it counts for those before it */
	uint64_t to_pass;      /* so many until the next such one, */
	uint64_t passed;       /* and short ones since the last */
	struct short_waits short_waits;
	struct short_waits woken_short_waits; /* until it was woken */
	uint64_t window_since, window_n, window_ns, window_long_ns;
};

/* Behind a stack. */
struct switch_stack {
	uint64_t woken_ns; /* how long whom it wakes had waited; 0: it is of who goes */
	uint64_t flags;	   /* enum wire_sample_flags, of who wakes */
};

enum { SWITCH_LOOK_CUT = 1 }; /* of switch_program_each() */

enum switch_event_kind {
	SWITCH_WAITED,	/* `from` to `until`, which was long */
	SWITCH_SAMPLED, /* the same, short: it stands for `weight` of the sums */
	SWITCH_LEFT,	/* it ends, or becomes another program: these are all its sums */
};

/* In a record's data. */
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
	uint32_t call_offset; /* in pt_regs: of what is not negative in a system call; 0: none */
	int fds[SWITCH_PROGRAMS];
	size_t n;
	int attached_fds[SWITCH_PROGRAMS]; /* each as long as it runs */
	size_t n_attached;
};

/*
 * Makes the maps and the programs. 0 or -errno: -EPERM: it takes CAP_BPF and CAP_PERFMON; -ENOENT:
 * the kernel does not tell its types; -ENOSYS, -EINVAL, -EACCES: it does not take them;
 * -EOPNOTSUPP: our PIDs are not the kernel's. `n_cpus` is one more than the highest CPU's number.
 */
int switch_program_init(struct switch_program *program, size_t n_cpus);
void switch_program_deinit(struct switch_program *program);

/* Where on a CPU stacks and other records go to: events of type BPF_OUTPUT. 0 or -errno. */
int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event);

/* Begins; threads that are there already are known since `begun`. 0 or -errno. */
int switch_program_start(struct switch_program *program, uint64_t begun, uint64_t threshold_ns);

/* Ends: nothing changes any more. */
void switch_program_stop(struct switch_program *program);

void switch_program_set_threshold(struct switch_program *program, uint64_t threshold_ns);

/* Forgets a thread that has gone. */
void switch_program_forget(struct switch_program *program, uint32_t tid);

/*
 * Calls for each thread as it is now. -errno of `each`, 0, or SWITCH_LOOK_CUT: there was so much
 * coming and going that some may have been missed, and some may have come twice.
 */
int switch_program_each(struct switch_program *program,
			int (*each)(uint32_t tid, const struct switch_thread *thread, void *arg),
			void *arg);

/* How many threads there was no room for, and how many switches do not fit what is known. */
void switch_program_count(const struct switch_program *program, uint64_t *ret_refused,
			  uint64_t *ret_contradictions);
