/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads and their waits: what both backends (wait-backend.h) pair them with. A wait that is over
 * becomes a sample, a part of one, or a part of its thread's sums. It does not matter here where
 * waits are paired.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/source/processes.h"
#include "common/source/perf-record.h"
#include "common/stage/stage.h"
#include "perf-source/off-cpu/switch-program.h"
#include "perf-source/off-cpu/wait-threshold.h"
#include "perf-source/perf/tracepoint.h"

#define OFF_CPU_EMIT_NS 1000000000ULL	/* sums are emitted no later than this */
#define OFF_CPU_FORGET_NS 5000000000ULL /* threads that the kernel's program has not any more */

enum {
	OFF_CPU_THREADS_MAX = 1 << 17,
	OFF_CPU_KEPT_MAX = 128 * 1024 * 1024, /* bytes of stacks of threads that are away */
};

enum thread_state {
	THREAD_RUNNING,
	THREAD_AWAY,
	THREAD_UNKNOWN, /* switches were lost since */
	THREAD_ENDED,	/* it is switched out once more */
};

struct off_cpu_thread {
	uint32_t tid, pid;
	enum thread_state state; /* of a thread that is paired by records */
	uint64_t since;		 /* of that state, or of its last wait */
	uint32_t flags;		 /* enum wire_sample_flags, of the wait */

	/* What it was switched out with: in the ring, or in `memory`. */
	bool has_stack;
	struct perf_record_sample stack;
	void *memory;
	size_t memory_size;
	struct off_cpu_thread *next; /* of those whose stacks are borrowed, or that are gone */
	bool is_borrowed;

	uint32_t waker_pid, waker_tid; /* 0: not known */
	uint64_t woken_at;
	struct short_waits woken_short_waits; /* until it was woken; by records */

	/* Since its sums were last emitted. */
	uint64_t on_ns, off_ns, n_waits, without_stack_ns;

	/* Time of short waits that no emitted sample represents yet: emitted at the end. */
	uint64_t short_ns;
	struct short_waits short_waits; /* by records */

	/* By the kernel's program. */
	uint64_t born;		      /* 0: not known yet */
	struct switch_sums sums;      /* the part of them that is in the above */
	uint64_t long_ns, sampled_ns; /* waits that had a record of their own */
	uint64_t upid;	     /* what it was until it became another program; 0: what it is */
	uint64_t upid_until; /* when it did */
	uint64_t seen_at;    /* in the kernel's list, last */
	UT_hash_handle hh;
};

/* A function of the kernel: its addresses; 0: not known. */
struct off_cpu_function {
	uint64_t start, end;
};

struct wait_backend;

struct off_cpu {
	const struct wait_backend *backend;
	struct stage *stage;		 /* borrowed */
	struct processes *processes;	 /* borrowed */
	uint32_t event, wakeup_event;	 /* by which samples name them */
	bool has_wakeups;		 /* the kernel tells who ends waits */
	uint64_t begun_at;		 /* threads that were there before are known since then */
	uint64_t emitted_at;		 /* sums, last */
	struct wait_threshold threshold; /* a wait that is shorter is only summed */
	struct off_cpu_thread *threads;	 /* by TID */
	struct off_cpu_thread *borrowed; /* whose stacks lie in the rings */
	struct off_cpu_thread *gone;	 /* what the writer may still borrow of them */
	size_t kept_bytes;
	uint64_t n_stacks;					 /* that the kernel took */
	uint64_t n_samples, n_sampled, n_short, n_without_stack; /* waits: emitted, and not */
	uint64_t n_wakeups;
	uint64_t n_contradictions; /* switches that do not fit what is known */
	uint64_t n_threads_refused, n_stacks_refused;

	/* By the kernel's program. */
	struct switch_program *program;		 /* borrowed */
	struct off_cpu_function leaving, waking; /* where the kernel meets the program */

	/* By records. */
	struct tracepoint_field woken; /* in the data of sched:sched_waking */
};

/*
 * `event` is the number that samples name waits by, and the next one that of wakeups; `n_cpus` are
 * recorded. `least_ns` 0: what is usual, and the threshold rises where there are too many waits.
 */
void off_cpu_init(struct off_cpu *off_cpu, const struct wait_backend *backend, struct stage *stage,
		  struct processes *processes, uint32_t event, size_t n_cpus, uint64_t least_ns);
void off_cpu_deinit(struct off_cpu *off_cpu);

/* NULL: not known. */
struct off_cpu_thread *off_cpu_find_thread(const struct off_cpu *off_cpu, uint32_t tid);

/* NULL: there is no room for one more, which is counted. */
struct off_cpu_thread *off_cpu_add_thread(struct off_cpu *off_cpu, uint32_t pid, uint32_t tid,
					  enum thread_state state, uint64_t since);

/* Since when a thread is known that was there before: records may be older than `begun_at`. */
static inline uint64_t off_cpu_known_since(const struct off_cpu *off_cpu, uint64_t time)
{
	return off_cpu->begun_at < time ? off_cpu->begun_at : time;
}

/* Records of switches are missing: nothing is known of any thread that was there before. */
static inline void off_cpu_lose_threads(struct off_cpu *off_cpu, uint64_t time)
{
	off_cpu->begun_at = time;
}

/* The memory that the writer borrows from it stays until off_cpu_keep(). */
void off_cpu_remove_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread);

/* The stack that a thread leaves with stays where it is until off_cpu_keep(). */
void off_cpu_take_stack(struct off_cpu *off_cpu, const struct perf_record_sample *sample);

/* All that was put has been written, and the kernel is to get its rings back. */
void off_cpu_keep(struct off_cpu *off_cpu);

/*
 * All below return 0 or -errno of the output.
 *
 * A wait since thread->since is over that is not in its sums.
 */
int off_cpu_end_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* A long wait that is in its sums. */
int off_cpu_end_long_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* A wait that is in its sums, and stands for `weight` of its short waits. */
int off_cpu_end_sampled_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
			     uint64_t weight);

/*
 * Emits a sample of a thread that ends the wait of another one. That is done at once, not when the
 * other one goes on: until then the process of this one may have mapped something else, or become
 * another program. So it weighs what the other one had waited until it was woken, not how long it
 * then had to wait for a CPU. As many are emitted of short waits as of the waits themselves.
 */
int off_cpu_put_wakeup(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
		       uint64_t weight, uint32_t flags);

/* Emits the sums of a thread until now; the second one for the last time. */
int off_cpu_emit_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);
int off_cpu_emit_last(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);
