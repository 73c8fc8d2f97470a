/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many bytes of each CPU's ring may be parts that one sample can have many of: of deep stacks,
 * and objects of interpreters. We write that, programs in the kernel read it.
 */
#pragma once

#include <stdint.h>

enum { RING_SHARE_CPUS_MAX = 4096 };

struct ring_share {
	uint64_t bytes_max;
	uint64_t n_left; /* written there: new objects that had no room in it, or in their sample */
	uint64_t n_read[RING_SHARE_CPUS_MAX]; /* by CPU: bytes of such parts that are free again */
};

static inline void ring_share_set_max(struct ring_share *share, uint64_t bytes)
{
	__atomic_store_n(&share->bytes_max, bytes, __ATOMIC_RELAXED);
}

static inline void ring_share_note_read(struct ring_share *share, uint32_t cpu, uint64_t bytes)
{
	if (cpu < RING_SHARE_CPUS_MAX)
		__atomic_store_n(&share->n_read[cpu], share->n_read[cpu] + bytes, __ATOMIC_RELAXED);
}
