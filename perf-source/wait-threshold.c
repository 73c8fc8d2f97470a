/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf-source/wait-threshold.h"

#include <string.h>

#include "common/clock.h"

/* What is left when switches are paid, a second. */
static uint64_t find_told_max(const struct wait_threshold *threshold, uint64_t elapsed)
{
	uint64_t budget = elapsed / 1000 * (WAITS_MAY_COST_NS / 1000000) * threshold->n_cpus;
	uint64_t spent = threshold->n_switches * threshold->switch_costs_ns;
	uint64_t least = WAITS_TOLD_AT_LEAST * threshold->n_cpus;
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
	threshold->told_max = find_told_max(threshold, NANOSECONDS_A_SECOND);
}

void wait_threshold_begin(struct wait_threshold *threshold, uint64_t time, uint64_t switch_costs_ns)
{
	threshold->looked_at = threshold->adapted_at = time;
	threshold->switch_costs_ns = switch_costs_ns;
}

void wait_threshold_count_switches(struct wait_threshold *threshold, uint64_t n)
{
	threshold->n_switches += n;
}

static int length_of(uint64_t duration)
{
	int bits = duration ? 63 - __builtin_clzll(duration) : 0;

	return bits < WAIT_THRESHOLD_LENGTHS ? bits : WAIT_THRESHOLD_LENGTHS - 1;
}

void wait_threshold_count_waits(struct wait_threshold *threshold, uint64_t duration, uint64_t n)
{
	threshold->n_of_length[length_of(duration)] += n;
	if (duration >= threshold->ns)
		threshold->n_long += n;
}

/* The least power of two that no more than so many waits were as long as. */
static uint64_t find_enough(const struct wait_threshold *threshold, uint64_t most)
{
	uint64_t n = 0;
	int i = WAIT_THRESHOLD_LENGTHS;

	while (i > 0 && n + threshold->n_of_length[i - 1] <= most)
		n += threshold->n_of_length[--i];
	return 1ULL << i;
}

static void change(struct wait_threshold *threshold, uint64_t ns)
{
	threshold->ns = ns;
	if (threshold->highest_ns < ns)
		threshold->highest_ns = ns;
}

static void begin_anew(struct wait_threshold *threshold, uint64_t time)
{
	threshold->adapted_at = time;
	threshold->n_long = 0;
	memset(threshold->n_of_length, 0, sizeof(threshold->n_of_length));
}

static uint64_t told_max_of(const struct wait_threshold *threshold, uint64_t elapsed)
{
	return threshold->told_max * (elapsed / 1000) / (NANOSECONDS_A_SECOND / 1000);
}

/* A second's may come at once: programs begin, and a burst is not what a machine does all the time.
 */
static bool are_too_many(const struct wait_threshold *threshold, uint64_t elapsed)
{
	return threshold->n_long > told_max_of(threshold, elapsed > NANOSECONDS_A_SECOND
								  ? elapsed
								  : NANOSECONDS_A_SECOND);
}

static void look_at_switches(struct wait_threshold *threshold, uint64_t time)
{
	uint64_t elapsed = time - threshold->looked_at;

	if (elapsed < WAIT_THRESHOLD_FALL_NS)
		return;
	threshold->told_max = find_told_max(threshold, elapsed);
	threshold->n_switches = 0;
	threshold->looked_at = time;
}

bool wait_threshold_adapt(struct wait_threshold *threshold, uint64_t time)
{
	uint64_t elapsed = time - threshold->adapted_at, before = threshold->ns, enough;

	if (time < threshold->looked_at) /* of before the beginning */
		return false;
	look_at_switches(threshold, time);
	if (threshold->is_fixed || elapsed < WAIT_THRESHOLD_RISE_NS)
		return false;
	enough = find_enough(threshold, told_max_of(threshold, elapsed) / 2);
	if (are_too_many(threshold, elapsed) && enough > threshold->ns)
		change(threshold, enough < WAIT_THRESHOLD_MAX_NS ? enough : WAIT_THRESHOLD_MAX_NS);
	else if (elapsed < WAIT_THRESHOLD_FALL_NS)
		return false;
	else if (enough < threshold->ns)
		change(threshold, threshold->ns / 2 > threshold->least_ns ? threshold->ns / 2
									  : threshold->least_ns);
	begin_anew(threshold, time);
	return threshold->ns != before;
}
