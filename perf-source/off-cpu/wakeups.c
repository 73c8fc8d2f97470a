/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who ends the waits of others, and what he did then. It is told at once, not when the other one
 * goes on: until then his process may have mapped something else, or become another program. So a
 * wakeup weighs what the other one had waited until he was woken, not how long he then had to wait
 * for a CPU. Of short waits as many are told as of the waits themselves (wait-threshold.h).
 */
#include <string.h>

#include "perf-source/off-cpu/off-cpu-thread.h"
#include "perf-source/perf/sample.h"

static int put(struct off_cpu *off_cpu, const struct record_sample *sample, uint64_t weight,
	       uint32_t flags)
{
	const struct sample_of_event of = { .event = off_cpu->wakeup_event,
					    .weight = weight,
					    .flags = flags };

	wait_threshold_count_told(&off_cpu->threshold, weight);
	off_cpu->n_wakeups++;
	return sample_put(off_cpu->stage, off_cpu->processes, sample, sample->time, &of);
}

/* What the kernel's program says of a stack. */
static struct switch_stack data_of(const struct record_sample *sample)
{
	struct switch_stack data = { 0 };

	if (sample->data_size >= sizeof(data))
		memcpy(&data, sample->data, sizeof(data));
	return data;
}

bool off_cpu_is_wakeup(const struct record_sample *sample)
{
	return data_of(sample).woken_ns;
}

int off_cpu_take_wakeup(struct off_cpu *off_cpu, const struct record_sample *sample)
{
	const struct switch_stack data = data_of(sample);
	struct record_sample stack = *sample;

	off_cpu_leave_program_out(&off_cpu->waking, &stack);
	return put(off_cpu, &stack, data.woken_ns, data.flags);
}

/* What an interrupt wakes is not woken by whom it has interrupted. */
static bool is_of_interrupt(const struct record_sample *sample)
{
	enum {
		FLAGS_AT = 2,
		TRACE_FLAG_NMI = 0x40,
		TRACE_FLAG_HARDIRQ = 0x08,
		TRACE_FLAG_SOFTIRQ = 0x10
	};

	return sample->data[FLAGS_AT] & (TRACE_FLAG_NMI | TRACE_FLAG_HARDIRQ | TRACE_FLAG_SOFTIRQ);
}

/* The thread that a tracepoint's data name; NULL: none that is known, or an interrupt wakes it. */
static struct off_cpu_thread *find_woken(const struct off_cpu *off_cpu,
					 const struct record_sample *sample)
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

int off_cpu_take_waking(struct off_cpu *off_cpu, const struct record_sample *sample)
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
		return put(off_cpu, sample, waited, 0);
	waited = wait_threshold_sample(&off_cpu->threshold, &thread->woken_short_waits, waited);
	return waited ? put(off_cpu, sample, waited, WIRE_sample_flags_SAMPLED) : 0;
}
