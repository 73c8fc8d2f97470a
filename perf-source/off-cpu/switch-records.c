/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waits that are paired here, where the kernel tells of each switch (off-cpu.h). */
#include "perf-source/off-cpu/off-cpu-thread.h"

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

int off_cpu_take_switch(struct off_cpu *off_cpu, const struct perf_event_header *header,
			uint64_t time)
{
	const struct record_id *id = record_id(header);
	bool is_out = header->misc & PERF_RECORD_MISC_SWITCH_OUT;
	struct off_cpu_thread *thread;

	/* Nobody waits in the idle task, and who has been reaped has no number any more. */
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

int off_cpu_take_fork(struct off_cpu *off_cpu, const struct record_task *task, uint64_t time)
{
	struct off_cpu_thread *known = off_cpu_find_thread(off_cpu, task->tid);
	int r = 0;

	if (known) { /* its end was lost */
		r = off_cpu_tell_last(off_cpu, known, time);
		off_cpu_remove_thread(off_cpu, known);
	}
	off_cpu_add_thread(off_cpu, task->pid, task->tid, THREAD_AWAY, time);
	return r;
}

int off_cpu_take_exit(struct off_cpu *off_cpu, const struct record_task *task, uint64_t time)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(off_cpu, task->tid);

	if (!thread || thread->state == THREAD_ENDED)
		return 0;
	if (thread->state == THREAD_RUNNING)
		thread->on_ns += time - thread->since;
	thread->state = THREAD_ENDED;
	thread->since = time;
	thread->has_stack = false;
	return off_cpu_tell_last(off_cpu, thread, time);
}

/* The one that has done it may have had another number; none of the others has it any more. */
static int end_others(struct off_cpu *off_cpu, const struct record_comm *comm, uint64_t time)
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
		r = off_cpu_tell_last(off_cpu, thread, time);
		off_cpu_remove_thread(off_cpu, thread);
	}
	return r;
}

/* What was before is of another program. */
int off_cpu_take_exec(struct off_cpu *off_cpu, const struct record_comm *comm, uint64_t time)
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
	return off_cpu_tell_last(off_cpu, thread, time);
}

/* The time until each thread is next heard of is neither: what it did is not known. */
int off_cpu_take_lost_switches(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;

	off_cpu->begun_at = time;
	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (thread->state == THREAD_ENDED)
			continue;
		thread->state = THREAD_UNKNOWN;
		thread->has_stack = false;
	}
	return 0;
}

void off_cpu_take_lost_tasks(struct off_cpu *off_cpu, uint64_t time)
{
	off_cpu->begun_at = time;
}

int off_cpu_finish_records(struct off_cpu *off_cpu, uint64_t time)
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
