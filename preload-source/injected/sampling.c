/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdint.h>
#include <string.h>

#include "preload-source/injected/next.h"
#include "preload-source/injected/sampling.h"

enum {
	SETS = 1 << 15,	   /* a power of two */
	WAYS = 8,	   /* a cache line */
	SKIPPED_BITS = 20, /* an entry per 16 bytes: 16 MiB of contiguous memory */
};

/* Marks a set that was full once: a block may be missing, so all its frees are recorded. */
#define OVERFLOWED 1ULL

/* The recorded block that this thread has released last and may restore. */
static __thread const void *released __attribute__((tls_model("initial-exec")));

#define FULL UINT8_MAX /* permanent */

uint8_t sampling_filter[SAMPLING_FILTER_SIZE] = { [0 ... SAMPLING_FILTER_SIZE - 1] = FULL };

static uint64_t taken[SETS][WAYS] __attribute__((aligned(64)));

/*
 * With HEAP_ADAPT all blocks are recorded up to some time, so the skipped ones are noted: else the
 * frees of all of them would fill the rings. An entry's tag identifies a 48-bit address; if the
 * entry of a later block has replaced it, the free is recorded.
 */
static uint32_t skipped[1 << SKIPPED_BITS];

void sampling_begin(void)
{
	size_t n = next_pool_used();

	memset(sampling_filter, 0, sizeof(sampling_filter));
	/* Pool blocks are not the allocator's, so their frees must not pass. */
	for (size_t at = 0; at < n; at += NEXT_POOL_ALIGNMENT)
		*sampling_filter_at(next_pool + at) = FULL;
}

static void count_in(const void *block)
{
	uint8_t *at = sampling_filter_at(block), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != FULL && !__atomic_compare_exchange_n(at, &n, n + 1, true, __ATOMIC_ACQ_REL,
							 __ATOMIC_RELAXED))
		;
}

static void count_out(const void *block)
{
	uint8_t *at = sampling_filter_at(block), n = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (n != FULL && n &&
	       !__atomic_compare_exchange_n(at, &n, n - 1, true, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
}

static uint64_t *set_of(const void *block)
{
	return taken[((uint64_t)block >> 4) * 0x9e3779b97f4a7c15ULL >> 40 & (SETS - 1)];
}

static void add(const void *block)
{
	uint64_t *set = set_of(block);

	count_in(block);
	for (int i = 1; i < WAYS; i++) {
		uint64_t nobody = 0;

		if (__atomic_compare_exchange_n(&set[i], &nobody, (uint64_t)block, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(&set[0], OVERFLOWED, __ATOMIC_RELEASE);
}

static bool take_out(const void *block)
{
	uint64_t *set = set_of(block);

	for (int i = 1; i < WAYS; i++)
		if (__atomic_load_n(&set[i], __ATOMIC_RELAXED) == (uint64_t)block) {
			__atomic_store_n(&set[i], 0, __ATOMIC_RELEASE);
			count_out(block);
			return true;
		}
	return __atomic_load_n(&set[0], __ATOMIC_ACQUIRE) == OVERFLOWED;
}

static bool is_adapting(void)
{
	return connected.region->when_full == HEAP_ADAPT;
}

static uint32_t *skipped_at(const void *block)
{
	return &skipped[(uint64_t)block >> 4 & ((1 << SKIPPED_BITS) - 1)];
}

/* Never 0, which is an empty entry. */
static uint32_t skipped_tag(const void *block)
{
	return (uint32_t)((uint64_t)block >> (SKIPPED_BITS + 4) << 4 | ((uint64_t)block & 15)) + 1;
}

static bool is_skipped(const void *block)
{
	return __atomic_load_n(skipped_at(block), __ATOMIC_RELAXED) == skipped_tag(block);
}

/* Needs no lock: the program orders allocation and free of a block itself. */
static void note(const void *block, bool is_taken)
{
	if (!is_taken)
		__atomic_store_n(skipped_at(block), skipped_tag(block), __ATOMIC_RELAXED);
	else if (is_skipped(block))
		__atomic_store_n(skipped_at(block), 0, __ATOMIC_RELAXED);
}

static uint64_t next_random(void)
{
	uint64_t x = thread.random += 0x9e3779b97f4a7c15ULL; /* splitmix64 */

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/*
 * -ln(x) of x in (0, 1] without libm, to 1e-9: from the exponent, and for the mantissa m in [1, 2)
 * by the series of 2 artanh((m - 1) / (m + 1)).
 */
static double minus_log(double x)
{
	uint64_t bits;
	double m, y, y2;
	int exponent;

	memcpy(&bits, &x, sizeof(bits));
	exponent = (int)(bits >> 52) - 1023;
	bits = (bits & ((1ULL << 52) - 1)) | 1023ULL << 52;
	memcpy(&m, &bits, sizeof(m));
	y = (m - 1) / (m + 1);
	y2 = y * y;
	return -(exponent * 0.69314718055994530942 +
		 2 * y *
			 (1 + y2 * (1 / 3. +
				    y2 * (1 / 5. +
					  y2 * (1 / 7. + y2 * (1 / 9. + y2 * (1 / 11. +
									      y2 * (1 / 13. +
										    y2 / 15))))))));
}

/* Draws the bytes up to the next sample, at least one. */
static int64_t draw(uint64_t mean)
{
	double uniform = ((next_random() >> 11) + 1) * (1.0 / (1ULL << 53)); /* (0, 1] */

	return (int64_t)(minus_log(uniform) * mean) + 1;
}

static bool is_due(int64_t *bytes_left, size_t size)
{
	if (!*bytes_left)
		*bytes_left = draw(thread.sampling);
	if (size < (uint64_t)*bytes_left) {
		*bytes_left -= size;
		return false;
	}
	*bytes_left = draw(thread.sampling);
	return true;
}

bool sampling_takes_slowly(const void *block, size_t size)
{
	int64_t *bytes_left = is_adapting() ? &thread.noted_bytes_left : &thread.bytes_left;
	bool is_taken = !thread.sampling || is_due(bytes_left, size);

	if (is_adapting())
		note(block, is_taken);
	else if (is_taken)
		add(block);
	return is_taken;
}

bool sampling_has_slowly(const void *block)
{
	bool is_taken = is_adapting() ? !is_skipped(block) : take_out(block);

	released = is_taken ? block : NULL;
	return is_taken;
}

bool sampling_restores_slowly(const void *block)
{
	if (released != block)
		return false;
	if (!is_adapting())
		add(block);
	return true;
}

void sampling_emit(void)
{
	uint64_t *record = thread_reserve(HEAP_SAMPLING_WORDS), mean = connected.region->sampling;

	if (!record)
		return;
	record[0] = (uint64_t)HEAP_RECORD_SAMPLING << HEAP_KIND_SHIFT | thread_time();
	record[1] = mean;
	thread_commit(HEAP_SAMPLING_WORDS);
	thread.sampling = mean;
	thread.bytes_left = thread.noted_bytes_left = 0;
}
