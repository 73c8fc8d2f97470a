/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What reading memory may take in the moment of a sample: time of its CPU, so that programs go on,
 * and a share of the CPU's ring. We say how much of that has been read and is free again.
 */
#pragma once

#include "perf-source/bpf/kernel-types.h"

#include "perf-source/bpf/ring-share.h"
#include "perf-source/bpf/sample-part.h"

enum {
	READ_WINDOW_NS = 100000000,
	READ_TIME_SHARE = 4, /* a 4th of a CPU's time */
	READ_WORD = 8,	     /* of which a record is a multiple */
};

/* Of one CPU. */
struct read_budget {
	uint64_t window_since, window_ns; /* time that reading took since then */
	uint64_t n_written;		  /* bytes of records that count against the share */
};

/* Whether there is time left to read more; `now` becomes the time. */
static __always_inline bool read_budget_has_time(struct read_budget *budget, uint64_t *now)
{
	*now = bpf_ktime_get_ns();
	if (*now - budget->window_since > READ_WINDOW_NS) {
		budget->window_since = *now;
		budget->window_ns = 0;
	}
	return budget->window_ns <= READ_WINDOW_NS / READ_TIME_SHARE;
}

/* Counts the time since `begun`. */
static __always_inline void read_budget_take_time(struct read_budget *budget, uint64_t begun)
{
	budget->window_ns += bpf_ktime_get_ns() - begun;
}

/* Bytes of the share that are free. */
static __always_inline uint64_t read_budget_room(const struct read_budget *budget,
						 const struct ring_share *share, uint32_t cpu)
{
	uint64_t used;

	if (cpu >= RING_SHARE_CPUS_MAX)
		return 0;
	used = budget->n_written - share->n_read[cpu];
	return used < share->bytes_max ? share->bytes_max - used : 0;
}

/* Bytes of a record in the ring that holds a part and `size` bytes behind it. */
static __always_inline uint64_t read_record_size(uint64_t size)
{
	return (SAMPLE_RECORD_OVERHEAD + sizeof(struct sample_part) + size + READ_WORD - 1) &
	       -READ_WORD;
}
