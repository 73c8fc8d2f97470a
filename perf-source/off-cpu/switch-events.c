/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The backend of waits that BPF programs pair (switch-program.h). Their sums only grow while a
 * thread lives: what was taken over is kept, so that each look adds what is new. A look shows the
 * state of now, while records are older: a thread that has begun since, or called exec, is skipped
 * until records have come that far.
 */
#include <string.h>

#include "common/proc/proc.h"
#include "common/stream/kallsyms.h"
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

/* Adds what is new in a thread's sums. */
static void add_sums(struct off_cpu *off_cpu, struct off_cpu_thread *thread,
		     const struct switch_sums *sums)
{
	/* The map's element may have been reused while it was read. */
	if (sums->on_ns < thread->sums.on_ns || sums->off_ns < thread->sums.off_ns ||
	    sums->n_waits < thread->sums.n_waits || sums->short_ns < thread->sums.short_ns ||
	    sums->sampled_ns < thread->sums.sampled_ns) {
		off_cpu->n_contradictions++;
		return;
	}
	wait_threshold_count_switches(&off_cpu->threshold, sums->n_waits - thread->sums.n_waits);
	off_cpu->n_short +=
		sums->n_waits - thread->sums.n_waits; /* take_wait() subtracts emitted ones */
	thread->on_ns += sums->on_ns - thread->sums.on_ns;
	thread->off_ns += sums->off_ns - thread->sums.off_ns;
	thread->n_waits += sums->n_waits - thread->sums.n_waits;
	thread->sums = *sums;
}

/*
 * Takes the final sums. Waits whose records were lost count as waits without a stack; what no
 * emitted wait represents is left of the short ones.
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

/* The thread that was born then. An older one with its TID has ended, by a record that was lost. */
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
		thread->upid = 0; /* no more records are of its old program */
	thread->born = born;
	thread->pid = pid;
	return thread;
}

static void note_waker(struct off_cpu_thread *thread, const struct switch_event *event)
{
	thread->waker_tid = event->waker;
	thread->waker_pid = event->waker >> 32;
	thread->woken_at = thread->waker_tid ? event->until : 0; /* 0: the idle task, or unknown */
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
	if (thread->has_stack && thread->stack.time < event->from) /* of an earlier wait */
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

/* At an exec: the next records of the thread are still of its old program. */
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

/* Other records of RING_SWITCHES are switches for scheduler.h. */
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

/* Adds the context behind the data of a stack. */
static void add_context(const struct perf_record_sample *sample, const struct switch_stack *data,
			struct sample_context *context)
{
	if (sample->data_size < sizeof(*data) ||
	    data->context_size > sample->data_size - sizeof(*data))
		return;
	context->bytes = sample->data + sizeof(*data);
	context->size = data->context_size;
	context->state = data->context_state;
}

/* The data that follow a stack show whether it is of a thread switched out, or of a waker. */
static int take_stack(struct off_cpu *off_cpu, uint32_t number,
		      const struct perf_record_sample *sample, struct sample_context context)
{
	struct switch_stack data = { 0 };
	struct perf_record_sample stack = *sample;

	if (sample->data_size >= sizeof(data))
		memcpy(&data, sample->data, sizeof(data));
	add_context(sample, &data, &context);
	switch_events_trim_stack(data.woken_ns ? &off_cpu->waking : &off_cpu->leaving, &stack);
	if (data.woken_ns)
		return off_cpu_put_wakeup(off_cpu, &stack, context, data.woken_ns, data.flags);
	off_cpu_take_stack(off_cpu, &stack, context);
	return 0;
}

struct thread_look {
	struct off_cpu *off_cpu;
	uint64_t time;
};

/* The thread of an element of the map; NULL: it has ended, or is newer than the records. */
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

/* Whether it ended long ago, and its TID is not in use. */
static bool has_gone(const struct thread_look *look, uint32_t tid,
		     const struct switch_thread *known)
{
	return known->state == SWITCH_ENDED && known->since + OFF_CPU_FORGET_NS < look->time &&
	       !proc_find_process(tid);
}

/* Ends a thread whose last record was lost: its sums are in the map. */
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

/* Ends threads that are not in the map any more: their last records were lost. */
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
	if (!thread || thread->seen_at == UINT64_MAX) /* the map may give it twice */
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
		if (thread->seen_at != UINT64_MAX) /* not in the map */
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
