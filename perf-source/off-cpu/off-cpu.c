/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>

#include "perf-source/off-cpu/off-cpu.h"

int off_cpu_begin(struct off_cpu *off_cpu, uint64_t time)
{
	off_cpu->begun_at = off_cpu->emitted_at = time;
	wait_threshold_begin(&off_cpu->threshold, time, off_cpu->backend->switch_costs_ns);
	return off_cpu->backend->begin(off_cpu, time);
}

/* Warns the user the first time that the threshold rises. */
static int adapt(struct off_cpu *off_cpu, uint64_t time)
{
	struct wait_threshold *threshold = &off_cpu->threshold;
	uint64_t highest_ns = threshold->highest_ns;

	if (!wait_threshold_adapt(threshold, time))
		return 0;
	if (highest_ns == threshold->least_ns)
		stage_warn(off_cpu->stage,
			   "very many waits: at times, only some of those below %" PRIu64
			   " us or more are recorded (--off-cpu=US fixes the threshold)",
			   threshold->ns / 1000);
	return off_cpu->backend->set_threshold(off_cpu, threshold->ns);
}

static bool has_been_emitted_last(const struct off_cpu_thread *thread, uint64_t time)
{
	return thread->state == THREAD_ENDED && time > thread->since + OFF_CPU_EMIT_NS;
}

int off_cpu_emit_sums(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;
	bool is_time = time >= off_cpu->emitted_at + OFF_CPU_EMIT_NS;
	int r = is_time ? off_cpu->backend->read_sums(off_cpu, time) : 0;

	if (r == 0)
		r = adapt(off_cpu, time);
	if (r < 0 || !is_time)
		return r;
	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (has_been_emitted_last(thread, time)) {
			off_cpu_remove_thread(off_cpu, thread);
			continue;
		}
		r = off_cpu_emit_thread(off_cpu, thread, time);
		if (r < 0)
			return r;
	}
	off_cpu->emitted_at = time;
	return 0;
}

static void count(const struct off_cpu *off_cpu)
{
	struct counters *counters = &off_cpu->stage->counters;

	*counters_get(counters, "waits", "pairs-in-kernel") += off_cpu->backend->pairs_in_kernel;
	*counters_get(counters, "waits", "stacks-taken") += off_cpu->n_stacks;
	*counters_get(counters, "waits", "told") += off_cpu->n_samples;
	*counters_get(counters, "waits", "sampled") += off_cpu->n_sampled;
	*counters_get(counters, "waits", "short") += off_cpu->n_short;
	*counters_get(counters, "waits", "without-stack") += off_cpu->n_without_stack;
	*counters_get(counters, "waits", "wakeups") += off_cpu->n_wakeups;
	*counters_get(counters, "waits", "contradictions") += off_cpu->n_contradictions;
	*counters_get(counters, "waits", "threshold-us") += off_cpu->threshold.highest_ns / 1000;
	*counters_get(counters, "refused", "waiting-threads") += off_cpu->n_threads_refused;
	*counters_get(counters, "refused", "waiting-stacks") += off_cpu->n_stacks_refused;
}

int off_cpu_finish(struct off_cpu *off_cpu, uint64_t time)
{
	struct off_cpu_thread *thread, *next;
	int r = off_cpu->backend->finish(off_cpu, time);

	HASH_ITER(hh, off_cpu->threads, thread, next)
	{
		if (r == 0)
			r = off_cpu_emit_last(off_cpu, thread, time);
	}
	if (r == 0)
		count(off_cpu);
	return r;
}
