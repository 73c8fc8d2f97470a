/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashes of words and bytes, and open addressing. Hashes are the same everywhere and always, as
 * some are stored: keys from outside data need a limit of probes, or a seed (stack-memo.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL /* odd: 2^64 divided by the golden ratio */

/* Adds a word to a hash. Upper bits depend on all bits of both, lower bits on few. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * HASH_FACTOR;
}

/* The index of a word in a cache of `n` entries; `n` is a power of two, at most 1 << 24. */
static inline size_t hash_place(uint64_t word, size_t n)
{
	return hash_word(0, word) >> 40 & (n - 1);
}

/* FNV-1a (RFC 9923) with 64 bits; HASH_BYTES is its initial value. */
#define HASH_BYTES 0xcbf29ce484222325ULL

static inline uint64_t hash_byte(uint64_t hash, unsigned char byte)
{
	return (hash ^ byte) * 0x100000001b3ULL;
}

static inline uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = hash_byte(hash, bytes[i]);
	return hash;
}

/* Adds one of several texts with an end mark, so that "ab" + "c" differs from "a" + "bc". */
static inline uint64_t hash_part(uint64_t hash, const char *bytes, size_t size)
{
	return hash_byte(hash_bytes(hash, bytes, size), 0xff);
}

/*
 * Open addressing: returns the first slot from `hash` on for which `is_end` holds, an expression of
 * `slot` for "free or found". `n_slots` is a power of two; at least one slot is free.
 */
#define HASH_PROBE(slots, n_slots, hash, slot, is_end)                                             \
	({                                                                                         \
		size_t mask_ = (n_slots)-1, at_ = (hash)&mask_;                                    \
		__typeof__(*(slots)) *slot = &(slots)[at_];                                        \
                                                                                                   \
		while (!(is_end))                                                                  \
			slot = &(slots)[at_ = (at_ + 1) & mask_];                                  \
		slot;                                                                              \
	})

/*
 * Removes a slot from an open-addressing table: moves up later slots of its probe sequence, so that
 * no search ends too early. `hash` and `is_free` are expressions of `slot`. Returns the slot that
 * the caller must mark as free.
 */
#define HASH_CLOSE_GAP(slots, n_slots, removed, slot, hash, is_free)                               \
	({                                                                                         \
		size_t mask_ = (n_slots)-1, gap_ = (removed) - (slots), at_ = gap_;                \
                                                                                                   \
		for (;;) {                                                                         \
			__typeof__(*(slots)) *slot = &(slots)[at_ = (at_ + 1) & mask_];            \
                                                                                                   \
			if (is_free)                                                               \
				break;                                                             \
			if (((at_ - (hash)) & mask_) < ((at_ - gap_) & mask_))                     \
				continue; /* its home is behind the gap */                         \
			(slots)[gap_] = *slot;                                                     \
			gap_ = at_;                                                                \
		}                                                                                  \
		&(slots)[gap_];                                                                    \
	})
