/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The backend that pairs waits here, from the kernel's record of each switch (off-cpu.h). */
#include <string.h>

#include "perf-source/off-cpu/wait-backend.h"
#include "perf-source/perf/event-set.h"

static void go_away(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time,
		    bool was_preempted)
{
	if (thread->state == THREAD_RUNNING)
		thread->on_ns += time - thread->since;
	else if (thread->state == THREAD_AWAY)
		off_cpu->n_contradictions++;
	thread->state = THREAD_AWAY;
	thread->since = time;
	thread->flags = was_preempted ? WIRE_sample_flags_PREEMPTED : 0;
}

static int come_back(struct off_cpu *off_cpu, struct off_cpu_thread *thread, uint64_t time)
{
	int r = 0;

	if (thread->state == THREAD_AWAY)
		r = off_cpu_end_wait(off_cpu, thread, time);
	else if (thread->state == THREAD_RUNNING)
		off_cpu->n_contradictions++;
	thread->state = THREAD_RUNNING;
	thread->since = time;
	thread->has_stack = false;
	return r;
}

static int take_switch(struct off_cpu *off_cpu, const struct perf_event_header *header,
		       uint64_t time)
{
	const struct perf_record_id *id = perf_record_id(header);
	bool is_out = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct off_cpu_thread *thread;

	/* The idle task does not wait, and a thread that was reaped has no TID any more. */
	if (!id || !id->tid || id->tid == PID_UNKNOWN)
		return 0;
	thread = off_cpu_find_thread(off_cpu, id->tid);
	if (!thread)
		thread = off_cpu_add_thread(off_cpu, id->pid, id->tid,
					    is_out ? THREAD_RUNNING : THREAD_AWAY,
					    off_cpu_known_since(off_cpu, time));
	if (!thread)
		return 0;
	if (thread->state == THREAD_ENDED) {
		if (is_out)
			off_cpu_remove_thread(off_cpu, thread);
		return 0;
	}
	if (!is_out)
		return come_back(off_cpu, thread, time);
	go_away(off_cpu, thread, time, header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	return 0;
}

/* Whether an interrupt wakes a thread: the interrupted thread has no part in it. */
static bool is_of_interrupt(const struct perf_record_sample *sample)
{
	enum {
		FLAGS_AT = 2,
		TRACE_FLAG_NMI = 0x40,
		TRACE_FLAG_HARDIRQ = 0x08,
		TRACE_FLAG_SOFTIRQ = 0x10
	};

	return sample->data[FLAGS_AT] & (TRACE_FLAG_NMI | TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ);
}

/* The thread that a tracepoint's data name; NULL: unknown, or an interrupt wakes it. */
static struct off_cpu_thread *find_woken(const struct off_cpu *off_cpu,
					 const struct perf_record_sample *sample)
{
	const struct tracepoint_field *field = &off_cpu->woken;
	uint32_t woken;

	if (!field->size || sample->data_size < sizeof(woken) ||
	    field->offset > sample->data_size - sizeof(woken) || !sample->tid ||
	    is_of_interrupt(sample))
		return NULL;
	memcpy(&woken, sample->data + field->offset, sizeof(woken));
	return off_cpu_find_thread(off_cpu, woken);
}

static int take_waking(struct off_cpu *off_cpu, const struct perf_record_sample *sample,
		       struct sample_context context)
{
	struct off_cpu_thread *thread = find_woken(off_cpu, sample);
	uint64_t waited;

	wait_threshold_count_stack(&off_cpu->threshold);
	if (!thread)
		return 0;
	thread->waker_pid = sample->pid;
	thread->waker_tid = sample->tid;
	thread->woken_at = sample->time;
	if (thread->state != THREAD_AWAY || sample->time <= thread->since)
		return 0;
	waited = sample->time - thread->since;
	if (waited >= off_cpu->threshold.ns)
		return off_cpu_put_wakeup(off_cpu, sample, context, waited, 0);
	waited = wait_threshold_sample(&off_cpu->threshold, &thread->woken_short_waits, waited);
	if (!waited)
		return 0;
	return off_cpu_put_wakeup(off_cpu, sample, context, waited, WIRE_sample_flags_SAMPLED);
}

static int take_stack(struct off_cpu *off_cpu, uint32_t number,
		      const struct perf_record_sample *sample, struct sample_context context)
{
	if (number == WAITS_WAKING)
		return take_waking(off_cpu, sample, context);
	off_cpu_take_stack(off_cpu, sample, context);
	return 0;
}

static int take_fork(struct off_cpu *off_cpu, const struct perf_record_task *task, uint64_t time)
{
	struct off_cpu_thread *known = off_cpu_find_thread(off_cpu, task->tid);
	int r = 0;

	if (known) { /* the record of its exit was lost */
		r = off_cpu_emit_last(off_cpu, known, time);
		off_cpu_remove_thread(off_cpu, known);
	}
	off_cpu_add_thread(off_cpu, task->pid, task->tid, THREAD_AWAY, time);
	return r;
}

static int take_exit(struct off_cpu *off_cpu, const struct perf_record_task *task, uint64_t time)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(off_cpu, task->tid);

	if (!thread || thread->state == THREAD_ENDED)
		return 0;
	if (thread->state == THREAD_RUNNING)
		thread->on_ns += time - thread->since;
	thread->state = THREAD_ENDED;
	thread->since = time;
	thread->has_stack = false;
	return off_cpu_emit_last(off_cpu, thread, time);
}

/* An exec ends all other threads; the one that called it may have had another TID. */
static int end_others(struct off_cpu *off_cpu, const struct perf_record_comm *comm, uint64_t time)
{
	struct off_cpu_thread *thread, *next;
	int r = 0;

	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (thread->pid != comm->pid || thread->tid == comm->tid ||
		    thread->state == THREAD_ENDED || r < 0)
			continue;
		if (thread->state == THREAD_RUNNING)
			thread->on_ns += time - thread->since;
		r = off_cpu_emit_last(off_cpu, thread, time);
		off_cpu_remove_thread(off_cpu, thread);
	}
	return r;
}

/* Sums until now are of the old program. */
static int take_exec(struct off_cpu *off_cpu, const struct perf_record_comm *comm, uint64_t time)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(off_cpu, comm->tid);
	int r = end_others(off_cpu, comm, time);

	if (r < 0)
		return r;
	if (!thread) {
		off_cpu_add_thread(off_cpu, comm->pid, comm->tid, THREAD_RUNNING, time);
		return 0;
	}
	if (thread->state == THREAD_RUNNING)
		thread->on_ns += time - thread->since;
	thread->state = THREAD_RUNNING;
	thread->since = time;
	return off_cpu_emit_last(off_cpu, thread, time);
}

static int take_task(struct off_cpu *off_cpu, const struct perf_event_header *header, uint64_t time)
{
	const void *data = header;

	switch (header->type) {
	case PERF_RECORD_FORK:
		return take_fork(off_cpu, data, time);
	case PERF_RECORD_EXIT:
		return take_exit(off_cpu, data, time);
	case PERF_RECORD_COMM:
		return perf_record_comm_is_exec(header) ? take_exec(off_cpu, data, time) : 0;
	default:
		return 0;
	}
}

/* A thread's time until its next switch is neither on nor off CPU: its state is unknown. */
static int take_lost(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;

	off_cpu_lose_threads(off_cpu, time);
	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (thread->state == THREAD_ENDED)
			continue;
		thread->state = THREAD_UNKNOWN;
		thread->has_stack = false;
	}
	return 0;
}

static int finish(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;
	int r = 0;

	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		thread->flags |= WIRE_sample_flags_STILL_AWAY;
		if (thread->state == THREAD_AWAY && r == 0)
			r = off_cpu_end_wait(off_cpu, thread, time);
		else if (thread->state == THREAD_RUNNING)
			thread->on_ns += time - thread->since;
	}
	return r;
}

static void find_no_functions(struct off_cpu *off_cpu, const char *kallsyms, size_t size)
{
}

/* Nothing is set up or summed in the kernel. */
static int do_nothing(struct off_cpu *off_cpu, uint64_t time)
{
	return 0;
}

const struct wait_backend wait_backend_records = {
	.switch_costs_ns = SWITCH_BY_RECORDS_COSTS_NS,
	.find_functions = find_no_functions,
	.begin = do_nothing,
	.take_switch = take_switch,
	.take_stack = take_stack,
	.take_task = take_task,
	.take_lost = take_lost,
	.set_threshold = do_nothing,
	.read_sums = do_nothing,
	.finish = finish,
};
