/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs the waits of all tasks in the kernel: BPF programs (switch.bpf.c) at five tracepoints of
 * the scheduler keep each thread's state, since when it has it, and its waker. They add up times at
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
#include <stdint.h>

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/ring-share.h"
#include "perf-source/bpf/switch-state.h"

enum { SWITCH_LOOK_CUT = 1 }; /* of switch_program_each() */

struct switch_program {
	struct switch_bpf *skeleton; /* NULL: not loaded */
};

struct switch_program_settings {
	const struct context_program *contexts; /* if loaded: stacks have those of their threads */
	bool has_walks; /* with these: what interpreters execute is emitted before a stack */
};

/*
 * Makes the maps and the programs. 0 or -errno: -EPERM: it takes CAP_BPF and CAP_PERFMON; -ESRCH:
 * the kernel has no type information; -EINVAL, -EACCES: it rejects them; -EOPNOTSUPP: not in the
 * initial PID namespace; -ENOSYS: built without BPF.
 */
int switch_program_init(struct switch_program *program,
			const struct switch_program_settings *settings);
void switch_program_deinit(struct switch_program *program);

/* Sets the events of type BPF_OUTPUT for a CPU's stacks and other records. 0 or -errno. */
int switch_program_set_output(struct switch_program *program, uint32_t cpu, int stacks_event,
			      int events_event);

/* The same for parts (sample-part.h). */
int switch_program_set_parts_output(struct switch_program *program, uint32_t cpu, int event);

/* What the rings may hold of objects; borrowed from a loaded program. */
struct ring_share *switch_program_share(const struct switch_program *program);

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
