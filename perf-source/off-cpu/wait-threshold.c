/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf-source/off-cpu/wait-threshold.h"

#include <string.h>

#include "common/base/clock.h"

/* How many waits a second can be paid after switches and stacks. */
static uint64_t find_emitted_max(const struct wait_threshold *threshold, uint64_t elapsed)
{
	uint64_t budget = elapsed / 1000 * (WAITS_MAY_COST_NS / 1000000) * threshold->n_cpus;
	uint64_t spent = threshold->n_switches * threshold->switch_costs_ns +
			 threshold->n_stacks * STACK_COSTS_NS;
	uint64_t least = WAITS_EMITTED_AT_LEAST * threshold->n_cpus;
	uint64_t left = spent < budget ? budget - spent : 0;
	uint64_t most = left * (NANOSECONDS_A_SECOND / WAIT_COSTS_NS) / elapsed;

	return most > least ? most : least;
}

void wait_threshold_init(struct wait_threshold *threshold, uint64_t least_ns, size_t n_cpus)
{
	*threshold = (struct wait_threshold){
		.least_ns = least_ns ? least_ns : WAIT_THRESHOLD_DEFAULT_NS,
		.is_fixed = least_ns,
		.n_cpus = n_cpus,
	};
	threshold->ns = threshold->highest_ns = threshold->least_ns;
	threshold->emitted_max = find_emitted_max(threshold, NANOSECONDS_A_SECOND);
}

void wait_threshold_begin(struct wait_threshold *threshold, uint64_t time, uint64_t switch_costs_ns)
{
	threshold->looked_at = threshold->span_at = threshold->changed_at = time;
	threshold->switch_costs_ns = switch_costs_ns;
	threshold->random = time | 1;
}

void wait_threshold_count_switches(struct wait_threshold *threshold, uint64_t n)
{
	threshold->n_switches += n;
}

void wait_threshold_count_stack(struct wait_threshold *threshold)
{
	threshold->n_stacks++;
}

static int power_of(uint64_t weight)
{
	int power = weight ? 63 - __builtin_clzll(weight) : 0;

	return power < WAIT_THRESHOLD_POWERS ? power : WAIT_THRESHOLD_POWERS - 1;
}

void wait_threshold_count_emitted(struct wait_threshold *threshold, uint64_t weight)
{
	threshold->n_emitted++;
	threshold->n_of_weight[power_of(weight)]++;
}

/* xorshift64 (Marsaglia 2003): sampling points must not be in step with periodic waits. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

uint64_t wait_threshold_sample(struct wait_threshold *threshold, struct short_waits *waits,
			       uint64_t duration)
{
	uint64_t weight = 0;

	waits->pending_ns += duration;
	if (waits->pending_ns < waits->gap_ns)
		return 0;
	if (waits->gap_ns)
		weight = waits->pending_ns - waits->pending_ns % waits->gap_ns;
	waits->pending_ns -= weight;
	waits->gap_ns = threshold->ns + next_random(&threshold->random) % threshold->ns;
	return weight;
}

/* How many of the emitted waits would have been emitted with a threshold of 2^i. */
static uint64_t count_emitted_with(const struct wait_threshold *threshold, int i)
{
	uint64_t n = 0;

	for (int k = 0; k < WAIT_THRESHOLD_POWERS; k++)
		n += k < i ? threshold->n_of_weight[k] >> (i - k) : threshold->n_of_weight[k];
	return n;
}

/* The least power of two with which at most `most` would have been emitted. */
static uint64_t find_enough(const struct wait_threshold *threshold, uint64_t most)
{
	int i = 0;

	while (i < WAIT_THRESHOLD_POWERS && count_emitted_with(threshold, i) > most)
		i++;
	return 1ULL << i;
}

static void change(struct wait_threshold *threshold, uint64_t ns)
{
	threshold->ns = ns;
	if (threshold->highest_ns < ns)
		threshold->highest_ns = ns;
}

static void begin_span(struct wait_threshold *threshold, uint64_t time)
{
	threshold->n_emitted_before += threshold->n_emitted;
	threshold->n_emitted = 0;
	memset(threshold->n_of_weight, 0, sizeof(threshold->n_of_weight));
	threshold->span_at = time;
}

static uint64_t emitted_max_of(const struct wait_threshold *threshold, uint64_t elapsed)
{
	return threshold->emitted_max * (elapsed / 1000) / (NANOSECONDS_A_SECOND / 1000);
}

/* A burst is allowed, as when a program begins: a shorter span counts as a whole one. */
static bool are_too_many(const struct wait_threshold *threshold, uint64_t elapsed)
{
	return threshold->n_emitted > emitted_max_of(threshold, elapsed > WAIT_THRESHOLD_SPAN_NS
									? elapsed
									: WAIT_THRESHOLD_SPAN_NS);
}

static void look_at_switches(struct wait_threshold *threshold, uint64_t time)
{
	uint64_t elapsed = time - threshold->looked_at;

	if (elapsed < WAIT_THRESHOLD_FALL_NS)
		return;
	threshold->emitted_max = find_emitted_max(threshold, elapsed);
	threshold->n_switches = threshold->n_stacks = 0;
	threshold->looked_at = time;
}

/* In steps: a burst does not show how many waits will follow. */
static void rise(struct wait_threshold *threshold, uint64_t elapsed)
{
	uint64_t enough = find_enough(threshold, emitted_max_of(threshold, elapsed) / 2);
	uint64_t step = threshold->ns * WAIT_THRESHOLD_STEP;

	enough = enough < step ? enough : step;
	if (enough > threshold->ns)
		change(threshold, enough < WAIT_THRESHOLD_MAX_NS ? enough : WAIT_THRESHOLD_MAX_NS);
}

/* Half the threshold emits at most twice as many. */
static void fall(struct wait_threshold *threshold, uint64_t elapsed)
{
	uint64_t ns = threshold->ns, most = emitted_max_of(threshold, elapsed) / 2;
	uint64_t n_emitted = threshold->n_emitted_before + threshold->n_emitted;

	for (uint64_t n = n_emitted + 1; 2 * n <= most && ns > threshold->least_ns; n *= 2)
		ns /= 2;
	threshold->ns = ns > threshold->least_ns ? ns : threshold->least_ns;
}

bool wait_threshold_adapt(struct wait_threshold *threshold, uint64_t time)
{
	uint64_t elapsed = time - threshold->span_at, before = threshold->ns;

	if (time < threshold->looked_at) /* before wait_threshold_begin() */
		return false;
	look_at_switches(threshold, time);
	if (threshold->is_fixed || elapsed < WAIT_THRESHOLD_RISE_NS)
		return false;
	if (are_too_many(threshold, elapsed)) {
		rise(threshold, elapsed);
	} else if (elapsed < WAIT_THRESHOLD_SPAN_NS) {
		return false;
	} else if (time - threshold->changed_at < WAIT_THRESHOLD_FALL_NS) {
		begin_span(threshold, time);
		return false;
	} else {
		fall(threshold, time - threshold->changed_at);
	}
	begin_span(threshold, time);
	threshold->n_emitted_before = 0;
	threshold->changed_at = time;
	return threshold->ns != before;
}
