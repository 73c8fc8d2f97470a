/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads and their waits, for both backends (wait-backend.h). A wait that is over becomes a
 * sample, a part of one, or a part of its thread's sums.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/source/perf-record.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "perf-source/bpf/switch-program.h"
#include "perf-source/off-cpu/wait-threshold.h"
#include "perf-source/perf/sample.h"
#include "perf-source/perf/tracepoint.h"

#define OFF_CPU_EMIT_NS 1000000000ULL	/* how often sums are emitted */
#define OFF_CPU_FORGET_NS 5000000000ULL /* until vanished threads are dropped */

enum {
	OFF_CPU_THREADS_MAX = 1 << 17,
	OFF_CPU_KEPT_MAX = 128 * 1024 * 1024, /* bytes of copied stacks */
};

enum thread_state {
	THREAD_RUNNING,
	THREAD_AWAY,
	THREAD_UNKNOWN, /* switches were lost, or the BPF program has the state */
	THREAD_ENDED,	/* exited; it is switched out once more */
};

struct off_cpu_thread {
	uint32_t tid, pid;
	enum thread_state state; /* records backend: what it does now */
	uint64_t since;		 /* begin of that state, or of its last wait */
	uint32_t flags;		 /* enum wire_sample_flags, of the wait */

	/* The stack that it was switched out with: in the ring, or in `memory`. */
	bool has_stack;
	struct perf_record_sample stack;
	struct sample_context context;
	void *memory;
	size_t memory_size;
	struct off_cpu_thread *next; /* in `borrowed` or `gone` of struct off_cpu */
	bool is_borrowed;

	uint32_t waker_pid, waker_tid; /* 0: unknown */
	uint64_t woken_at;
	struct short_waits woken_short_waits; /* until woken; records backend */

	/* Sums since they were last emitted. */
	uint64_t on_ns, off_ns, n_waits, without_stack_ns;

	/* Time of short waits that no emitted sample represents yet: emitted at the end. */
	uint64_t short_ns;
	struct short_waits short_waits; /* records backend */

	/* Program backend. */
	uint64_t born;		      /* 0: not known yet */
	struct switch_sums sums;      /* the program's, as far as they were taken over */
	uint64_t long_ns, sampled_ns; /* of waits that had a record of their own */
	uint64_t upid;		      /* its incarnation before an exec; 0: the current one */
	uint64_t upid_until;	      /* when that exec was */
	uint64_t seen_at;	      /* when the program's map last had it */
	UT_hash_handle hh;
};

/* The addresses of a kernel function; 0: unknown. */
struct off_cpu_function {
	uint64_t start, end;
};

struct wait_backend;

struct off_cpu {
	const struct wait_backend *backend;
	struct stage *stage;		 /* borrowed */
	struct processes *processes;	 /* borrowed */
	uint32_t event, wakeup_event;	 /* numbers of events */
	bool has_wakeups;		 /* wakers are recorded */
	uint64_t begun_at;		 /* since when older threads are known */
	uint64_t emitted_at;		 /* when sums were last emitted */
	struct wait_threshold threshold; /* shorter waits are summed and sampled */
	struct off_cpu_thread *threads;	 /* by TID */
	struct off_cpu_thread *borrowed; /* their stacks lie in the rings */
	struct off_cpu_thread *gone;	 /* removed, but the writer may borrow from them */
	size_t kept_bytes;
	uint64_t n_stacks;					 /* taken by the kernel */
	uint64_t n_samples, n_sampled, n_short, n_without_stack; /* waits */
	uint64_t n_wakeups;
	uint64_t n_contradictions; /* switches that do not fit a thread's known state */
	uint64_t n_threads_refused, n_stacks_refused;

	/* Program backend. */
	struct switch_program *program;		 /* borrowed */
	struct off_cpu_function leaving, waking; /* the functions with the tracepoints */

	/* Records backend. */
	struct tracepoint_field woken; /* `pid` in the data of sched:sched_waking */
};

/*
 * `event` is the number of the waits' event, `event` + 1 that of wake-ups. `n_cpus` are recorded.
 * `least_ns` 0: the default threshold, which rises if there are too many waits.
 */
void off_cpu_init(struct off_cpu *off_cpu, const struct wait_backend *backend, struct stage *stage,
		  struct processes *processes, uint32_t event, size_t n_cpus, uint64_t least_ns);
void off_cpu_deinit(struct off_cpu *off_cpu);

/* NULL: unknown. */
struct off_cpu_thread *off_cpu_find_thread(const struct off_cpu *off_cpu, uint32_t tid);

/* NULL: no room for one more, which is counted. */
struct off_cpu_thread *off_cpu_add_thread(struct off_cpu *off_cpu, uint32_t pid, uint32_t tid,
					  enum thread_state state, uint64_t since);

/* Since when an older thread is known: records may be older than `begun_at`. */
static inline uint64_t off_cpu_known_since(const struct off_cpu *off_cpu, uint64_t time)
{
	return off_cpu->begun_at < time ? off_cpu->begun_at : time;
}

/* Records of switches are missing: older threads are known only since `time`. */
static inline void off_cpu_lose_threads(struct off_cpu *off_cpu, uint64_t time)
{
	off_cpu->begun_at = time;
}

/* The memory that the writer borrows from the thread stays until off_cpu_keep(). */
void off_cpu_remove_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread);

/* Takes the stack of a thread that is switched out; it stays in its ring until off_cpu_keep(). */
void off_cpu_take_stack(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
			struct sample_context context);

/* To be called when all output was written, before rings are released: copies stacks from them. */
void off_cpu_keep(struct off_cpu *off_cpu);

/*
 * All below return 0 or -errno of the output.
 *
 * Ends a wait since thread->since that is not in the thread's sums.
 */
int off_cpu_end_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* Ends a long wait that is in the sums. */
int off_cpu_end_long_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);

/* Ends a wait that is in the sums, and represents `weight` of the thread's short waits. */
int off_cpu_end_sampled_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
			     uint64_t weight);

/*
 * Emits a sample of a waker, at once and not when the woken thread is switched in: until then the
 * waker's process may have changed its mappings, or executed another program. So it weighs the wait
 * until the wake-up, without the time that the woken thread then waits for a CPU. Wake-ups from
 * short waits are sampled as the waits themselves are.
 */
int off_cpu_put_wakeup(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
		       struct sample_context context, uint64_t weight, uint32_t flags);

/* Emits a thread's sums until now; off_cpu_emit_last() also the rest of its short waits. */
int off_cpu_emit_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);
int off_cpu_emit_last(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time);
