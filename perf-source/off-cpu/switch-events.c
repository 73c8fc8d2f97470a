/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits that were paired in the kernel (switch-program.h). Its sums only ever grow while a thread
 * lives: what was taken over of them is kept, so that a look at them takes what is new. A look is
 * at now, while records are of some time ago: of a thread that has begun since, or has become
 * another program, it takes nothing until the records have come that far.
 */
#include <string.h>

#include "common/stream/kallsyms.h"
#include "common/proc/proc.h"
#include "perf-source/off-cpu/wait-backend.h"

enum { PROGRAM_FRAMES_MAX = 16 };

static void find_functions(struct off_cpu *off_cpu, const char *kallsyms, size_t size)
{
	struct kallsyms_range ranges[] = { { .name = "__schedule" }, { .name = "try_to_wake_up" } };

	kallsyms_find_ranges(kallsyms, size, ranges, 2);
	off_cpu->leaving = (struct off_cpu_function){ ranges[0].start, ranges[0].end };
	off_cpu->waking = (struct off_cpu_function){ ranges[1].start, ranges[1].end };
}

void switch_events_trim_stack(const struct off_cpu_function *discovered_in,
			      struct perf_record_sample *stack)
{
	for (size_t i = 0; i < stack->n_chain && i < PROGRAM_FRAMES_MAX; i++) {
		if (stack->chain[i] < discovered_in->start || stack->chain[i] >= discovered_in->end)
			continue;
		stack->chain += i;
		stack->n_chain -= i;
		return;
	}
}

/* What its sums have more than was taken over. */
static void add_sums(struct off_cpu *off_cpu, struct off_cpu_thread *thread,
		     const struct switch_sums *sums)
{
	/* A look may have met a place that is being used again. */
	if (sums->on_ns < thread->sums.on_ns || sums->off_ns < thread->sums.off_ns ||
	    sums->n_waits < thread->sums.n_waits || sums->short_ns < thread->sums.short_ns ||
	    sums->sampled_ns < thread->sums.sampled_ns) {
		off_cpu->n_contradictions++;
		return;
	}
	wait_threshold_count_switches(&off_cpu->threshold, sums->n_waits - thread->sums.n_waits);
	off_cpu->n_short += sums->n_waits - thread->sums.n_waits; /* but for those told of */
	thread->on_ns += sums->on_ns - thread->sums.on_ns;
	thread->off_ns += sums->off_ns - thread->sums.off_ns;
	thread->n_waits += sums->n_waits - thread->sums.n_waits;
	thread->sums = *sums;
}

/*
 * Its sums are the last ones. Records of waits may have been lost: their time is known all the
 * same; and of short ones there is what none stands for that is told.
 */
static void add_pending(struct off_cpu_thread *thread)
{
	uint64_t long_ns = thread->sums.off_ns - thread->sums.short_ns;

	if (long_ns > thread->long_ns)
		thread->without_stack_ns += long_ns - thread->long_ns;
	if (thread->sums.sampled_ns > thread->sampled_ns)
		thread->without_stack_ns += thread->sums.sampled_ns - thread->sampled_ns;
	thread->short_ns = thread->sums.short_ns - thread->sums.sampled_ns;
	thread->long_ns = long_ns;
	thread->sampled_ns = thread->sums.sampled_ns;
}

/* As it was born then; whoever had its number before has gone, and the record of that is lost. */
static struct off_cpu_thread *get_thread(struct off_cpu *off_cpu, uint32_t pid, uint32_t tid,
					 uint64_t born)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(off_cpu, tid);

	if (thread && thread->born && thread->born != born) {
		off_cpu->n_contradictions++;
		off_cpu_remove_thread(off_cpu, thread);
		thread = NULL;
	}
	if (!thread)
		thread = off_cpu_add_thread(off_cpu, pid, tid, THREAD_UNKNOWN, born);
	if (!thread)
		return NULL;
	if (!thread->born && born >= thread->upid_until)
		thread->upid = 0; /* nothing is told of what it was before */
	thread->born = born;
	thread->pid = pid;
	return thread;
}

static void note_waker(struct off_cpu_thread *thread, const struct switch_event *event)
{
	thread->waker_tid = event->waker;
	thread->waker_pid = event->waker >> 32;
	thread->woken_at = thread->waker_tid ? event->until : 0; /* the idle task wakes nobody */
}

static int end_event(struct off_cpu *off_cpu, struct off_cpu_thread *thread,
		     const struct switch_event *event)
{
	if (event->kind == SWITCH_SAMPLED) {
		thread->sampled_ns += event->weight;
		return off_cpu_end_sampled_wait(off_cpu, thread, event->until, event->weight);
	}
	thread->long_ns += event->until - event->from;
	return off_cpu_end_long_wait(off_cpu, thread, event->until);
}

static int take_wait(struct off_cpu *off_cpu, struct off_cpu_thread *thread,
		     const struct switch_event *event)
{
	int r;

	if (event->until < event->from)
		return 0;
	if (thread->has_stack && thread->stack.time < event->from) /* it is of a wait before */
		thread->has_stack = false;
	thread->since = event->from;
	thread->flags = event->flags;
	note_waker(thread, event);
	off_cpu->n_short--;
	r = end_event(off_cpu, thread, event);
	thread->woken_at = 0;
	thread->has_stack = false;
	return r;
}

static int end_thread(struct off_cpu *off_cpu, struct off_cpu_thread *thread,
		      const struct switch_sums *sums, uint64_t time)
{
	int r;

	add_sums(off_cpu, thread, sums);
	add_pending(thread);
	r = off_cpu_emit_last(off_cpu, thread, time);
	off_cpu_remove_thread(off_cpu, thread);
	return r;
}

/* What the program tells next of the thread is of what it was before. */
static int take_task(struct off_cpu *off_cpu, const struct perf_event_header *header, uint64_t time)
{
	const struct perf_record_comm *comm = (const void *)header;
	struct off_cpu_thread *thread;

	if (header->type != PERF_RECORD_COMM || !perf_record_comm_is_exec(header))
		return 0;
	thread = off_cpu_find_thread(off_cpu, comm->tid);
	if (!thread)
		thread = off_cpu_add_thread(off_cpu, comm->pid, comm->tid, THREAD_UNKNOWN, time);
	if (!thread)
		return 0;
	thread->upid_until = time;
	return processes_of_sample(off_cpu->processes, comm->pid, 0, time, &thread->upid);
}

/* Other records of that ring are of switches, for scheduler.h. */
static int take_switch(struct off_cpu *off_cpu, const struct perf_event_header *header,
		       uint64_t time)
{
	const struct perf_record_raw *raw = (const void *)header;
	struct switch_event event;
	struct off_cpu_thread *thread;

	if (header->type != PERF_RECORD_SAMPLE || !perf_record_raw_has(raw, 0, sizeof(event)))
		return 0;
	memcpy(&event, raw->data, sizeof(event));
	thread = get_thread(off_cpu, event.pid, event.tid, event.born);
	if (!thread)
		return 0;
	return event.kind == SWITCH_LEFT ? end_thread(off_cpu, thread, &event.sums, event.until)
					 : take_wait(off_cpu, thread, &event);
}

/* The data behind a stack say whether it is of a thread that goes, or of one that wakes another. */
static int take_stack(struct off_cpu *off_cpu, uint32_t number,
		      const struct perf_record_sample *sample)
{
	struct switch_stack data = { 0 };
	struct perf_record_sample stack = *sample;

	if (sample->data_size >= sizeof(data))
		memcpy(&data, sample->data, sizeof(data));
	switch_events_trim_stack(data.woken_ns ? &off_cpu->waking : &off_cpu->leaving, &stack);
	if (data.woken_ns)
		return off_cpu_put_wakeup(off_cpu, &stack, data.woken_ns, data.flags);
	off_cpu_take_stack(off_cpu, &stack);
	return 0;
}

struct thread_look {
	struct off_cpu *off_cpu;
	uint64_t time;
};

/* The thread of the kernel's list that records have told of, or that was there before them. */
static struct off_cpu_thread *look_up(const struct thread_look *look, uint32_t tid,
				      const struct switch_thread *known)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(look->off_cpu, tid);

	if (known->state == SWITCH_ENDED || known->born >= look->time)
		return NULL;
	if (thread && thread->born && thread->born != known->born)
		return NULL;
	return get_thread(look->off_cpu, known->pid, tid, known->born);
}

/* It ended long ago, and its number is not in use. */
static bool has_gone(const struct thread_look *look, uint32_t tid,
		     const struct switch_thread *known)
{
	return known->state == SWITCH_ENDED && known->since + OFF_CPU_FORGET_NS < look->time &&
	       !proc_find_process(tid);
}

/* The record of its end is lost: these are its sums all the same. */
static int end_unrecorded(const struct thread_look *look, uint32_t tid,
			  const struct switch_thread *known)
{
	struct off_cpu_thread *thread = off_cpu_find_thread(look->off_cpu, tid);

	if (!thread || thread->born != known->born)
		return 0;
	return end_thread(look->off_cpu, thread, &known->sums, look->time);
}

static int read_thread(uint32_t tid, const struct switch_thread *known, void *arg)
{
	const struct thread_look *look = arg;
	struct off_cpu_thread *thread = look_up(look, tid, known);

	if (has_gone(look, tid, known)) {
		switch_program_forget(look->off_cpu->program, tid);
		return end_unrecorded(look, tid, known);
	}
	if (!thread)
		return 0;
	add_sums(look->off_cpu, thread, &known->sums);
	thread->seen_at = look->time;
	return 0;
}

/* A thread whose end was lost is not in the list any more. */
static int remove_unseen(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;
	int r = 0;

	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (!thread->seen_at)
			thread->seen_at = time;
		if (time - thread->seen_at > OFF_CPU_FORGET_NS && r == 0)
			r = end_thread(off_cpu, thread, &thread->sums, time);
	}
	return r;
}

static int read_sums(struct off_cpu *off_cpu, uint64_t time)
{
	struct thread_look look = { off_cpu, time };
	int r = switch_program_each(off_cpu->program, read_thread, &look);

	if (r == 0)
		r = remove_unseen(off_cpu, time);
	return r < 0 ? r : 0;
}

static int finish_thread(uint32_t tid, const struct switch_thread *known, void *arg)
{
	const struct thread_look *look = arg;
	struct off_cpu_thread *thread = look_up(look, tid, known);

	if (known->state == SWITCH_ENDED)
		return end_unrecorded(look, tid, known);
	if (!thread || thread->seen_at == UINT64_MAX) /* the list may name it twice */
		return 0;
	thread->seen_at = UINT64_MAX;
	add_sums(look->off_cpu, thread, &known->sums);
	add_pending(thread);
	if (known->since > look->time)
		return 0;
	if (known->state == SWITCH_RUNNING) {
		thread->on_ns += look->time - known->since;
		return 0;
	}
	if (thread->has_stack && thread->stack.time < known->since)
		thread->has_stack = false;
	thread->since = known->since;
	thread->flags = known->flags | WIRE_sample_flags_STILL_AWAY;
	return off_cpu_end_wait(look->off_cpu, thread, look->time);
}

static int finish(struct off_cpu *off_cpu, uint64_t time)
{
	struct thread_look look = { off_cpu, time };
	struct off_cpu_thread *thread, *next;
	uint64_t n_refused, n_contradictions;
	int r;

	switch_program_count(off_cpu->program, &n_refused, &n_contradictions);
	off_cpu->n_threads_refused += n_refused;
	off_cpu->n_contradictions += n_contradictions;
	r = switch_program_each(off_cpu->program, finish_thread, &look);
	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (thread->seen_at != UINT64_MAX) /* it is not in the list */
			add_pending(thread);
	}
	return r < 0 ? r : 0;
}

static int begin(struct off_cpu *off_cpu, uint64_t time)
{
	return switch_program_start(off_cpu->program, time, off_cpu->threshold.ns);
}

static int set_threshold(struct off_cpu *off_cpu, uint64_t threshold_ns)
{
	switch_program_set_threshold(off_cpu->program, threshold_ns);
	return 0;
}

/* A lost record costs a wait its stack: its time is in the sums. */
static int take_lost(struct off_cpu *off_cpu, uint64_t time)
{
	return 0;
}

const struct wait_backend wait_backend_program = {
	.pairs_in_kernel = true,
	.switch_costs_ns = SWITCH_IN_KERNEL_COSTS_NS,
	.find_functions = find_functions,
	.begin = begin,
	.take_switch = take_switch,
	.take_stack = take_stack,
	.take_task = take_task,
	.take_lost = take_lost,
	.set_threshold = set_threshold,
	.read_sums = read_sums,
	.finish = finish,
};
