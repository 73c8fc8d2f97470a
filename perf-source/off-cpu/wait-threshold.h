/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long a wait must be to be told by itself; shorter ones are sampled, as time on the CPU is: a
 * thread's lie behind each other, and from one point of that line to the next it is as far as the
 * threshold, and at random up to twice as far. The wait in which a point lies stands for what is
 * between it and the point before.
 *
 * Each that is told costs about what a sample costs, so of a machine that switches very often not
 * many can be: the threshold rises until recording waits takes no more than 1 % of the CPUs, by
 * what a switch and a wait cost where we measured it. It rises in steps, as soon as more are told
 * than may be in a quarter of a second, and falls once a second; both to where half as many are
 * told as may be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_THRESHOLD_RISE_NS 25000000ULL   /* no faster */
#define WAIT_THRESHOLD_SPAN_NS 250000000ULL  /* in which not too many may be told */
#define WAIT_THRESHOLD_FALL_NS 1000000000ULL /* no faster; and what switches cost is looked at */

enum {
	WAIT_THRESHOLD_DEFAULT_NS = 100000,
	WAIT_THRESHOLD_MAX_NS = 1000000000,
	WAIT_THRESHOLD_STEP = 16,   /* it rises to so many times as much */
	WAIT_THRESHOLD_POWERS = 30, /* of two: the last is half a second and more */

	/*
	 * A switch: two programs, 560 ns and 210 ns by the kernel's account
	 * (kernel.bpf_stats_enabled), and what they push out of the caches; or two records. A wait:
	 * 17 µs of all stages' CPU time. A stack, whether it is told or not: an estimate.
	 */
	SWITCH_IN_KERNEL_COSTS_NS = 1200,
	SWITCH_BY_RECORDS_COSTS_NS = 3000,
	WAIT_COSTS_NS = 17000,
	STACK_COSTS_NS = 4000,
	WAITS_MAY_COST_NS = 10000000, /* a second and CPU */
	WAITS_EMITTED_AT_LEAST = 50,  /* a second and CPU, whatever switches cost */
};

/* Of a thread. */
struct short_waits {
	uint64_t pending_ns; /* since the last point */
	uint64_t gap_ns;     /* to the next one; 0: not known yet */
};

struct wait_threshold {
	uint64_t ns;
	uint64_t least_ns, highest_ns; /* it starts at the one, and was no higher than the other */
	bool is_fixed;		       /* somebody has asked for it */
	size_t n_cpus;
	uint64_t switch_costs_ns;
	uint64_t emitted_max;	       /* waits a second, of all CPUs */
	uint64_t n_switches, n_stacks; /* since looked_at */
	uint64_t random;
	uint64_t looked_at;
	uint64_t n_emitted;			     /* waits since span_at: all, and those */
	uint64_t n_of_weight[WAIT_THRESHOLD_POWERS]; /* that stand for 2^i nanoseconds or more */
	uint64_t span_at;
	uint64_t n_emitted_before; /* since changed_at */
	uint64_t changed_at;	   /* or looked at whether it should be */
};

/* `least_ns` 0: what is usual, and it rises. */
void wait_threshold_init(struct wait_threshold *threshold, uint64_t least_ns, size_t n_cpus);
void wait_threshold_begin(struct wait_threshold *threshold, uint64_t time,
			  uint64_t switch_costs_ns);

/* What has a price: so many threads that came back, a stack, a wait that is told. */
void wait_threshold_count_switches(struct wait_threshold *threshold, uint64_t n);
void wait_threshold_count_stack(struct wait_threshold *threshold);
void wait_threshold_count_emitted(struct wait_threshold *threshold, uint64_t weight);

/*
 * A wait of that thread that was shorter: what it stands for if it is to be told, or 0. The same in
 * the kernel's instructions is put_short_wait() of switch-code.c.
 */
uint64_t wait_threshold_sample(struct wait_threshold *threshold, struct short_waits *waits,
			       uint64_t duration);

/* Whether it is another one now. Times only grow, but may begin before the beginning. */
bool wait_threshold_adapt(struct wait_threshold *threshold, uint64_t time);
