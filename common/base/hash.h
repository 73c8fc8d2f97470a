/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashes of words and of bytes, and what tables do with them. They are the same everywhere and at
 * all times, as some of them are written: what outside data can choose needs a limit on probes, or
 * a seed (stack-memo.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_FACTOR 0x9e3779b97f4a7c15ULL /* odd, 2^64 by the golden ratio */

/* A hash and a further word: the upper bits depend on all of both, the lower ones on few. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
	return (hash ^ word) * HASH_FACTOR;
}

/* Which of `n` places a word has in a cache; `n` is a power of two, at most 1 << 24. */
static inline size_t hash_place(uint64_t word, size_t n)
{
	return hash_word(0, word) >> 40 & (n - 1);
}

/* FNV-1a (RFC 9923), 64 bits, which begins with HASH_BYTES. */
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

/* The same of one text of several, whose end counts. */
static inline uint64_t hash_part(uint64_t hash, const char *bytes, size_t size)
{
	return hash_byte(hash_bytes(hash, bytes, size), 0xff);
}

/*
 * Open addressing: the first slot, from where `hash` belongs, for which `is_end` holds, an
 * expression of `slot` that says that it is free or what is looked for. Of `n_slots`, a power of
 * two, at least one is free.
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
 * Open addressing without one slot: what came behind it may have come there for its sake, and
 * moves up, so that no search ends too early. `hash` and `is_free` are expressions of `slot`. The
 * slot that is to be free then.
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
				continue; /* it lies where it belongs, or between */               \
			(slots)[gap_] = *slot;                                                     \
			gap_ = at_;                                                                \
		}                                                                                  \
		&(slots)[gap_];                                                                    \
	})
