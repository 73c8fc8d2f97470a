/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the programs of switch.bpf.c keep of threads, and what they emit. */
#pragma once

#include <stdint.h>

enum {
	SWITCH_THREADS_MAX = 1 << 16, /* alive at once */

	/* A thread's waits are judged in windows of this many waits, */
	SWITCH_WINDOW_WAITS = 64,
	SWITCH_WINDOW_NS = 1280000000, /* or of this long. After one that fills up earlier, */
	SWITCH_LONG_SHARE = 20,	       /* unless long waits are more than a 20th of its waiting, */
	SWITCH_THINNING_MAX = 12,      /* only 25 to 50 waits a second are looked at: 1 in 2^n */
};

/* An ended thread is kept until its last switch is surely over, which would add it anew. */
enum switch_state { SWITCH_AWAY, SWITCH_RUNNING, SWITCH_ENDED };

/* The sampling of a thread's short waits (wait-threshold.h). */
struct short_waits {
	uint64_t pending_ns; /* since the last sampling point */
	uint64_t gap_ns;     /* from there to the next one; 0: not chosen yet */
};

/* All since the thread began, or since its exec. */
struct switch_sums {
	uint64_t on_ns, off_ns, n_waits;
	uint64_t short_ns;   /* of waits below the threshold */
	uint64_t sampled_ns; /* the part of those that emitted waits represent */
};

struct switch_thread {
	uint64_t born; /* when it was added: distinguishes it from others with its TID */
	uint64_t since;
	uint64_t runtime; /* its CPU time by the scheduler's account, then */
	uint32_t state;
	uint32_t pid;
	uint64_t flags; /* enum wire_sample_flags, of the wait */
	uint64_t waker; /* of the wait: TID, and PID above that; 0: unknown */
	uint64_t place; /* address of the context of the program that set `waker` */
	struct switch_sums sums;
	uint64_t thinning;     /* one wait in 2^thinning, chosen at random, is looked at: */
	uint64_t is_looked_at; /* its stack is taken, and it represents those before it */
	uint64_t to_pass;      /* waits until the next such one, */
	uint64_t passed;       /* and short waits since the last */
	struct short_waits short_waits;
	struct short_waits woken_short_waits; /* until it is woken */
	uint64_t window_since, window_n, window_ns, window_long_ns;
};

/* Follows a stack; then come the bytes of the thread's context. */
struct switch_stack {
	uint64_t woken_ns; /* of a waker: how long the woken thread had waited; 0: switched out */
	uint64_t flags;	   /* enum wire_sample_flags, of a waker */
	uint32_t context_state; /* enum wire_context_state; 0: it was not looked for */
	uint32_t context_size;
};

enum switch_event_kind {
	SWITCH_WAITED,	/* a long wait, `from` to `until` */
	SWITCH_SAMPLED, /* a short wait, which represents `weight` of the sums */
	SWITCH_LEFT,	/* exit or exec: the final sums */
};

/* The data of a record. */
struct switch_event {
	uint32_t kind, tid;
	uint64_t pid, flags, born, waker;
	uint64_t from, until, weight;
	struct switch_sums sums;
};

/* Shared with us. We write the threshold; running programs write the rest. */
struct switch_settings {
	uint64_t begun, threshold_ns;
	uint64_t n_refused;	   /* how often there was no room for a thread */
	uint64_t n_contradictions; /* missed switches: a running thread comes, or one away goes */
};
