/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "perf-source/off-cpu/waits.h"

void off_cpu_init(struct off_cpu *off_cpu, const struct wait_backend *backend, struct stage *stage,
		  struct processes *processes, uint32_t event, size_t n_cpus, uint64_t least_ns)
{
	*off_cpu = (struct off_cpu){
		.backend = backend,
		.stage = stage,
		.processes = processes,
		.event = event,
		.wakeup_event = event + 1,
	};
	wait_threshold_init(&off_cpu->threshold, least_ns, n_cpus);
}

static void free_thread(struct off_cpu_thread *thread)
{
	free(thread->memory);
	free(thread);
}

/* Frees removed threads: the writer borrows nothing from them any more. */
static void free_gone(struct off_cpu *off_cpu)
{
	struct off_cpu_thread *thread, *next;

	for (thread = off_cpu->borrowed; thread; thread = next) {
		next = thread->next;
		if (!thread->tid)
			free_thread(thread);
	}
	for (thread = off_cpu->gone; thread; thread = next) {
		next = thread->next;
		free_thread(thread);
	}
	off_cpu->borrowed = off_cpu->gone = NULL;
}

void off_cpu_deinit(struct off_cpu *off_cpu)
{
	struct off_cpu_thread *thread, *next;

	free_gone(off_cpu);
	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		HASH_DEL(off_cpu->threads, thread);
		free_thread(thread);
	}
	*off_cpu = (struct off_cpu){ 0 };
}

struct off_cpu_thread *off_cpu_find_thread(const struct off_cpu *off_cpu, uint32_t tid)
{
	struct off_cpu_thread *thread;

	HASH_FIND(hh, off_cpu->threads, &tid, sizeof(tid), thread);
	return thread;
}

struct off_cpu_thread *off_cpu_add_thread(struct off_cpu *off_cpu, uint32_t pid, uint32_t tid,
					  enum thread_state state, uint64_t since)
{
	struct off_cpu_thread *thread = NULL;

	if (HASH_COUNT(off_cpu->threads) < OFF_CPU_THREADS_MAX)
		thread = calloc(1, sizeof(*thread));
	if (thread) {
		*thread = (struct off_cpu_thread){
			.tid = tid, .pid = pid, .state = state, .since = since
		};
		HASH_ADD(hh, off_cpu->threads, tid, sizeof(thread->tid), thread);
		if (HASH_HAS(hh, thread))
			return thread;
		free(thread);
	}
	off_cpu->n_threads_refused++;
	return NULL;
}

/* Does not free the thread: the writer may borrow its memory, and `borrowed` may list it. */
void off_cpu_remove_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread)
{
	HASH_DEL(off_cpu->threads, thread);
	off_cpu->kept_bytes -= thread->memory_size;
	thread->memory_size = 0;
	thread->state = THREAD_ENDED;
	thread->has_stack = false;
	if (!thread->is_borrowed) {
		thread->next = off_cpu->gone;
		off_cpu->gone = thread;
	}
	thread->tid = 0;
}

static int put_sum(struct off_cpu *off_cpu, const struct off_cpu_thread *thread, uint64_t upid,
		   enum wire_stack_end end, uint64_t sum, uint64_t time)
{
	const struct wire_stack stack = {
		.time = time,
		.process = upid,
		.tid = thread->tid,
		.weight = sum,
		.end = end,
		.event = off_cpu->event,
	};

	if (!sum)
		return 0;
	off_cpu->stage->samples_in++;
	return stage_put(off_cpu->stage, WIRE_RECORD_stack, &stack);
}

static int put_time(struct off_cpu *off_cpu, const struct off_cpu_thread *thread, uint64_t upid,
		    uint64_t time)
{
	const struct wire_thread_time record = {
		.time = time,
		.process = upid,
		.tid = thread->tid,
		.on_cpu = thread->on_ns,
		.off_cpu = thread->off_ns,
		.n_waits = thread->n_waits,
	};

	return stage_put(off_cpu->stage, WIRE_RECORD_thread_time, &record);
}

int off_cpu_emit_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time)
{
	uint64_t upid = thread->upid;
	int r = 0;

	if (!thread->on_ns && !thread->off_ns)
		return 0;
	if (!upid)
		r = processes_of_sample(off_cpu->processes, thread->pid, 0, time, &upid);
	if (r == 0)
		r = put_sum(off_cpu, thread, upid, WIRE_stack_end_NO_STACK,
			    thread->without_stack_ns, time);
	if (r == 0)
		r = put_time(off_cpu, thread, upid, time);
	thread->on_ns = thread->off_ns = thread->n_waits = thread->without_stack_ns = 0;
	return r;
}

int off_cpu_emit_last(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time)
{
	uint64_t upid = thread->upid;
	int r = 0;

	if (thread->short_ns && !upid)
		r = processes_of_sample(off_cpu->processes, thread->pid, 0, time, &upid);
	if (r == 0)
		r = put_sum(off_cpu, thread, upid, WIRE_stack_end_SHORT_WAITS, thread->short_ns,
			    time);
	thread->short_ns = 0;
	thread->short_waits = (struct short_waits){ 0 };
	return r < 0 ? r : off_cpu_emit_thread(off_cpu, thread, time);
}

static int emit_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
		     uint64_t weight)
{
	/* A preempted thread waits for a CPU, even if it was woken before it could sleep. */
	bool is_woken = thread->woken_at >= thread->since && thread->woken_at <= time &&
			!(thread->flags & WIRE_sample_flags_PREEMPTED);
	const struct sample_of_event of = {
		.event = off_cpu->event,
		.weight = weight,
		.flags = thread->flags,
		.waker_pid = is_woken ? thread->waker_pid : 0,
		.waker_tid = is_woken ? thread->waker_tid : 0,
		.context = thread->context,
	};

	wait_threshold_count_emitted(&off_cpu->threshold, weight);
	if (!thread->has_stack) {
		thread->without_stack_ns += weight;
		off_cpu->n_without_stack++;
		return 0;
	}
	off_cpu->n_samples++;
	return sample_put(off_cpu->stage, off_cpu->processes, &thread->stack, time, &of);
}

int off_cpu_end_long_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time)
{
	return emit_wait(off_cpu, thread, time, time - thread->since);
}

int off_cpu_end_sampled_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
			     uint64_t weight)
{
	thread->flags |= WIRE_sample_flags_SAMPLED;
	off_cpu->n_sampled++;
	return emit_wait(off_cpu, thread, time, weight);
}

int off_cpu_end_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time)
{
	uint64_t duration = time - thread->since, weight;

	thread->off_ns += duration;
	thread->n_waits++;
	wait_threshold_count_switches(&off_cpu->threshold, 1);
	if (duration >= off_cpu->threshold.ns)
		return off_cpu_end_long_wait(off_cpu, thread, time);
	thread->short_ns += duration;
	weight = wait_threshold_sample(&off_cpu->threshold, &thread->short_waits, duration);
	if (!weight) {
		off_cpu->n_short++;
		return 0;
	}
	thread->short_ns -= weight;
	return off_cpu_end_sampled_wait(off_cpu, thread, time, weight);
}

void off_cpu_take_stack(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
			struct sample_context context)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(off_cpu, sample->tid);

	off_cpu->n_stacks++;
	wait_threshold_count_stack(&off_cpu->threshold);
	if (!sample->tid || sample->tid == PID_UNKNOWN)
		return;
	if (!thread)
		thread = off_cpu_add_thread(off_cpu, sample->pid, sample->tid, THREAD_RUNNING,
					    off_cpu_known_since(off_cpu, sample->time));
	if (!thread || thread->state == THREAD_ENDED)
		return;
	thread->has_stack = true;
	thread->stack = *sample;
	thread->context = context;
	if (!thread->is_borrowed) {
		thread->is_borrowed = true;
		thread->next = off_cpu->borrowed;
		off_cpu->borrowed = thread;
	}
}

/* Copies a part of a stack to `*at`, and moves `*at` behind it. */
static const void *move(char **at, const void *part, size_t size)
{
	void *to = *at;

	if (size)
		memcpy(to, part, size);
	*at += size;
	return to;
}

/* Copies a stack out of the ring, or drops it if there is no room. */
static void keep_stack(struct off_cpu *off_cpu, struct off_cpu_thread *thread)
{
	struct perf_record_sample *stack = &thread->stack;
	size_t size = (stack->n_chain + stack->n_registers) * sizeof(uint64_t) + stack->stack_size +
		      thread->context.size + thread->context.walk_size;
	char *at;

	if (size > thread->memory_size) {
		if (off_cpu->kept_bytes + size - thread->memory_size > OFF_CPU_KEPT_MAX ||
		    !(at = malloc(size))) {
			thread->has_stack = false;
			off_cpu->n_stacks_refused++;
			return;
		}
		free(thread->memory);
		off_cpu->kept_bytes += size - thread->memory_size;
		thread->memory = at;
		thread->memory_size = size;
	}
	at = thread->memory;
	stack->chain = move(&at, stack->chain, stack->n_chain * sizeof(uint64_t));
	stack->registers = move(&at, stack->registers, stack->n_registers * sizeof(uint64_t));
	stack->stack = move(&at, stack->stack, stack->stack_size);
	thread->context.bytes = move(&at, thread->context.bytes, thread->context.size);
	thread->context.walk = move(&at, thread->context.walk, thread->context.walk_size);
}

void off_cpu_keep(struct off_cpu *off_cpu)
{
	for (struct off_cpu_thread *thread = off_cpu->borrowed; thread; thread = thread->next) {
		thread->is_borrowed = false;
		if (thread->has_stack)
			keep_stack(off_cpu, thread);
	}
	free_gone(off_cpu);
}

int off_cpu_put_wakeup(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
		       struct sample_context context, uint64_t weight, uint32_t flags)
{
	const struct sample_of_event of = {
		.event = off_cpu->wakeup_event, .weight = weight, .flags = flags, .context = context
	};

	wait_threshold_count_emitted(&off_cpu->threshold, weight);
	off_cpu->n_wakeups++;
	return sample_put(off_cpu->stage, off_cpu->processes, sample, sample->time, &of);
}
