/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a wait must be to be emitted itself. Shorter ones are sampled, as time on the CPU is: a
 * thread's short waits are put end to end, with sampling points at random distances of one to two
 * thresholds. A wait with a point in it represents the time since the point before.
 *
 * An emitted wait costs about what a sample costs, so a machine that switches very often can afford
 * few: the threshold rises until recording waits takes no more than 1 % of the CPUs, by what a
 * switch and a wait cost where we measured it. It rises in steps, as soon as more are emitted than
 * a quarter of a second allows, and falls once a second; both to where half as many are emitted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf-source/bpf/switch-state.h"

#define WAIT_THRESHOLD_RISE_NS 25000000ULL   /* at least between changes */
#define WAIT_THRESHOLD_SPAN_NS 250000000ULL  /* in which no more than allowed may be emitted */
#define WAIT_THRESHOLD_FALL_NS 1000000000ULL /* at least before a fall; also reprices switches */

enum {
	WAIT_THRESHOLD_DEFAULT_NS = 100000,
	WAIT_THRESHOLD_MAX_NS = 1000000000,
	WAIT_THRESHOLD_STEP = 16,   /* a rise multiplies by this at most */
	WAIT_THRESHOLD_POWERS = 30, /* of two; the last is half a second and more */

	/*
	 * A switch: two programs, 560 ns and 210 ns by the kernel's account
	 * (kernel.bpf_stats_enabled), and their cache misses; or two records. A wait: 17 µs of all
	 * stages' CPU time. A stack, emitted or not: an estimate.
	 */
	SWITCH_IN_KERNEL_COSTS_NS = 1200,
	SWITCH_BY_RECORDS_COSTS_NS = 3000,
	WAIT_COSTS_NS = 17000,
	STACK_COSTS_NS = 4000,
	WAITS_MAY_COST_NS = 10000000, /* per second and CPU */
	WAITS_EMITTED_AT_LEAST = 50,  /* per second and CPU, whatever switches cost */
};

struct wait_threshold {
	uint64_t ns;
	uint64_t least_ns, highest_ns; /* where it starts, and its highest so far */
	bool is_fixed;		       /* the user has set it */
	size_t n_cpus;
	uint64_t switch_costs_ns;
	uint64_t emitted_max;	       /* waits per second, of all CPUs */
	uint64_t n_switches, n_stacks; /* since looked_at */
	uint64_t random;
	uint64_t looked_at;
	uint64_t n_emitted;			     /* waits since span_at: all, and by */
	uint64_t n_of_weight[WAIT_THRESHOLD_POWERS]; /* the power of two of their weight */
	uint64_t span_at;
	uint64_t n_emitted_before; /* from changed_at to span_at */
	uint64_t changed_at;	   /* or last found right */
};

/* `least_ns` 0: the default, which rises. */
void wait_threshold_init(struct wait_threshold *threshold, uint64_t least_ns, size_t n_cpus);
void wait_threshold_begin(struct wait_threshold *threshold, uint64_t time,
			  uint64_t switch_costs_ns);

/* Count what has a price: `n` threads that were switched in, a stack, an emitted wait. */
void wait_threshold_count_switches(struct wait_threshold *threshold, uint64_t n);
void wait_threshold_count_stack(struct wait_threshold *threshold);
void wait_threshold_count_emitted(struct wait_threshold *threshold, uint64_t weight);

/*
 * Takes a wait below the threshold; returns the weight to emit it with, or 0. end_short_wait() of
 * switch.bpf.c does the same in the kernel.
 */
uint64_t wait_threshold_sample(struct wait_threshold *threshold, struct short_waits *waits,
			       uint64_t duration);

/* Whether the threshold has changed. Times only grow, from before wait_threshold_begin() on. */
bool wait_threshold_adapt(struct wait_threshold *threshold, uint64_t time);
