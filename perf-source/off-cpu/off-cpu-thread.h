/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread whose waits are told: for off-cpu.c and those that feed it alone. */
#pragma once

#include "common/base/hash-table.h"
#include "perf-source/off-cpu/off-cpu.h"
#include "perf-source/off-cpu/switch-program.h"

enum thread_state {
	THREAD_RUNNING,
	THREAD_AWAY,
	THREAD_UNKNOWN, /* switches were lost since */
	THREAD_ENDED,	/* it is switched out once more */
};

struct off_cpu_thread {
	uint32_t tid, pid;
	enum thread_state state; /* where each switch is told */
	uint64_t since;		 /* of that state, or of its last wait */
	uint32_t flags;		 /* enum wire_sample_flags, of the wait */

	/* What it was switched out with: in the ring, or in `memory`. */
	bool has_stack;
	struct record_sample stack;
	void *memory;
	size_t memory_size;
	struct off_cpu_thread *next; /* of those whose stacks are borrowed, or that are gone */
	bool is_borrowed;

	uint32_t waker_pid, waker_tid; /* 0: not known */
	uint64_t woken_at;
	struct short_waits woken_short_waits; /* until it was woken; where each switch is told */

	/* Since it was last told. */
	uint64_t on_ns, off_ns, n_waits, without_stack_ns;

	/* Of short waits, what none that is told stands for yet: told at the end. */
	uint64_t short_ns;
	struct short_waits short_waits; /* where each switch is told */

	/* Of the kernel's program. */
	uint64_t born;		      /* 0: not known yet */
	struct switch_sums sums;      /* what of them is in the above */
	uint64_t long_ns, sampled_ns; /* what it told of by itself */
	uint64_t upid;	     /* what it was until it became another program; 0: what it is */
	uint64_t upid_until; /* when it did */
	uint64_t seen_at;    /* in the kernel's list, last */
	UT_hash_handle hh;
};

/* NULL: not known. */
struct off_cpu_thread *off_cpu_find_thread(const struct off_cpu *off_cpu, uint32_t tid);

/* NULL: there is no room for one more, which is counted. */
struct off_cpu_thread *off_cpu_add_thread(struct off_cpu *off_cpu, uint32_t pid, uint32_t tid,
					  enum thread_state state, uint64_t since);

/* A thread that was there before: since when it is known. Events come before we say that they do.
 */
static inline uint64_t off_cpu_known_since(const struct off_cpu *off_cpu, uint64_t time)
{
	return off_cpu->begun_at < time ? off_cpu->begun_at : time;
}

/* What the writer borrows of it stays until off_cpu_keep(). */
void off_cpu_remove_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread);

/* A wait since thread->since is over that is not in its sums. 0 or -errno of the output. */
int off_cpu_end_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* The same of one that is in its sums, and is told by itself. */
int off_cpu_end_long_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* One that is in its sums, which stands for so much of its short waits. */
int off_cpu_end_sampled_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
			     uint64_t weight);

/* Tells what was summed of a thread until now; for the last time. 0 or -errno of the output. */
int off_cpu_tell_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);
int off_cpu_tell_last(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* switch-events.c: a stack without the program's own frames. */
void off_cpu_leave_program_out(const struct off_cpu_function *met_in, struct record_sample *stack);

/* wakeups.c: whether the program's sample is of who wakes, not of who goes; takes such a one in. */
bool off_cpu_is_wakeup(const struct record_sample *sample);
int off_cpu_take_wakeup(struct off_cpu *off_cpu, const struct record_sample *sample);

/* switch-events.c: takes over what the program has summed until now, or at the very end. */
int off_cpu_read_program(struct off_cpu *off_cpu, uint64_t time);
int off_cpu_finish_program(struct off_cpu *off_cpu, uint64_t time);

/* switch-records.c: whoever runs has run until now, whoever is away still is. */
int off_cpu_finish_records(struct off_cpu *off_cpu, uint64_t time);
