/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the managed code that has an address (struct walk_managed): that of a compiler in its
 * heaps, and that of a file, which was compiled before.
 */
#pragma once

#include "perf-source/bpf/read-object.h"

enum {
	WALK_MAP_LEVELS = 5, /* RangeSectionMap (codeman.h) of 64-bit processes: */
	WALK_MAP_BITS = 8,   /* of an address, for each level; */
	WALK_MAP_SHIFT = 17, /* those below tell no fragments apart, */
	WALK_MAP_TAG = 1,    /* and a bit of pointers is a mark */
	WALK_FRAGMENTS_MAX = 4,
	WALK_BUCKET_BITS = 5,	  /* bytes for which a nibble says where code begins in them, */
	WALK_NIBBLES = 8,	  /* in words of so many, */
	WALK_MAP_WORDS_MAX = 192, /* of which so many are searched for code that begins before */
	WALK_STUB_KINDS = 16, /* header pointers that are numbers: of code that is no method's */
	WALK_FUNCTIONS_STEPS = 20, /* of a search in a file's functions: so many bits */
	WALK_HANDLERS_MAX = 8,	   /* of a method, behind it */
	WALK_ENTRY_TRIES = 8,
	WALK_ENTRY_KEYS = 4,  /* Bucket (hash.h): keys, and as many values, */
	WALK_ENTRY_SHIFT = 2, /* and how a bucket is found */
	WALK_ENTRY_STEP_SHIFT = 5,
};

#define WALK_ENTRY_MORE (1ULL << 63) /* of its first value: other buckets have more */

struct walk_fragment {
	uint64_t next, begin, end, section;
};

/* Finds the section of code that has an address; it has `section` 0 if none has. */
static __always_inline void walk_find_section(uint64_t map, uint64_t address,
					      struct walk_fragment *ret)
{
	uint64_t at = map;

	ret->section = 0;
	for (uint32_t i = WALK_MAP_LEVELS; i--;) {
		uint64_t index = address >> (WALK_MAP_SHIFT + i * WALK_MAP_BITS) &
				 ((1 << WALK_MAP_BITS) - 1);

		at = walk_read_pointer(at + index * sizeof(at)) & ~(uint64_t)WALK_MAP_TAG;
		if (!at)
			return;
	}
	for (uint32_t i = 0; i < WALK_FRAGMENTS_MAX && at; i++) {
		if (bpf_probe_read_user(ret, sizeof(*ret), (const void *)at)) {
			ret->section = 0;
			return;
		}
		if (address >= ret->begin && address < ret->end)
			return;
		at = ret->next & ~(uint64_t)WALK_MAP_TAG;
	}
	ret->section = 0;
}

static __always_inline uint32_t walk_read_nibbles(uint64_t map, uint64_t word)
{
	uint32_t nibbles = 0;

	bpf_probe_read_user(&nibbles, sizeof(nibbles),
			    (const void *)(map + word * sizeof(nibbles)));
	return nibbles;
}

/* How many nibbles are empty below the lowest one that is not; without branches. */
static __always_inline uint32_t walk_count_empty(uint32_t nibbles)
{
	uint64_t low = nibbles & -nibbles;
	uint32_t n = (UINT16_MAX - low) >> 63 << 2, more;

	low >>= n * 4;
	more = (UINT8_MAX - low) >> 63 << 1;
	low >>= more * 4;
	return n + more + ((15 - low) >> 63);
}

/*
 * Whether a word of nibbles is no such word: from .NET 10 on, one of which all is in the same code
 * says instead how far into the heap that begins.
 */
static __always_inline bool walk_is_distance(uint32_t nibbles)
{
	return (nibbles & 15) > WALK_NIBBLES;
}

static __always_inline uint64_t walk_distance(uint32_t nibbles)
{
	return (nibbles & ~15U) + ((nibbles & 15) - WALK_NIBBLES - 1) * 4;
}

/*
 * How far into a heap code begins, the last at or before an offset; UINT64_MAX: none does. Of each
 * bucket of 32 bytes a nibble says in which word of them it begins, from 1 on (nibblemapmacros.h).
 * The first of eight nibbles is the highest.
 */
__noinline uint64_t walk_find_begin(uint64_t map, uint64_t offset)
{
	uint64_t bucket = offset >> WALK_BUCKET_BITS, word = bucket / WALK_NIBBLES;
	uint32_t within = bucket % WALK_NIBBLES, nibbles = walk_read_nibbles(map, word), n;

	if (walk_is_distance(nibbles))
		return walk_distance(nibbles);
	nibbles >>= (WALK_NIBBLES - 1 - within) * 4;
	if ((nibbles & 15) > (offset >> 2 & 7) + 1)
		nibbles &= ~15U;
	for (uint32_t i = 0; i < WALK_MAP_WORDS_MAX && !nibbles; i++) {
		if (!word)
			return UINT64_MAX;
		word--;
		within = WALK_NIBBLES - 1;
		nibbles = walk_read_nibbles(map, word);
	}
	if (!nibbles)
		return UINT64_MAX;
	if (walk_is_distance(nibbles) && within == WALK_NIBBLES - 1)
		return walk_distance(nibbles);
	n = walk_count_empty(nibbles);
	return ((word * WALK_NIBBLES + within - n) << WALK_BUCKET_BITS) +
	       ((nibbles >> n * 4 & 15) - 1) * 4;
}

/* Where the method's code begins that has an address of a heap; 0: it is in none. */
static __always_inline uint64_t walk_find_in_heap(const struct walk_managed_code *code,
						  uint64_t address)
{
	uint64_t begin = address >= code->heap_base
				 ? walk_find_begin(code->heap_map, address - code->heap_base)
				 : UINT64_MAX;

	if (begin == UINT64_MAX)
		return 0;
	begin += code->heap_base;
	return walk_read_pointer(begin - sizeof(begin)) >= WALK_STUB_KINDS ? begin : 0;
}

/* The i-th function of a file, from 1 on. 0: it has the place. */
static __always_inline int walk_read_function_at(uint64_t functions, uint64_t i, uint64_t place,
						 struct dotnet_function *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret),
				   (const void *)(functions + (i - 1) * sizeof(*ret))) ||
	       place < ret->begin || place >= ret->end;
}

/*
 * Which of a file's functions has a place, from 1 on; 0: none has. It is looked first at the one
 * that had it last time.
 */
__noinline uint64_t walk_find_function_at(uint64_t functions, uint64_t n, uint64_t place,
					  uint64_t known)
{
	struct dotnet_function function;
	uint64_t low = 0, high = n;

	if (known && known <= n && !walk_read_function_at(functions, known, place, &function))
		return known;
	for (uint32_t i = 0; i < WALK_FUNCTIONS_STEPS && low < high; i++) {
		uint64_t middle = low + (high - low) / 2;
		uint32_t begin = 0;

		bpf_probe_read_user(&begin, sizeof(begin),
				    (const void *)(functions + middle * sizeof(function)));
		if (begin <= place)
			low = middle + 1;
		else
			high = middle;
	}
	return low && !walk_read_function_at(functions, low, place, &function) ? low : 0;
}

struct walk_bucket {
	uint64_t keys[WALK_ENTRY_KEYS], values[WALK_ENTRY_KEYS];
};

/* The method whose code begins at an address, by a table of all that were called (HashMap); 0:
 * none. */
__noinline uint64_t walk_find_entry(uint64_t buckets, uint64_t address)
{
	uint64_t size = walk_read_pointer(buckets);
	uint32_t n = size, at = address >> WALK_ENTRY_SHIFT, step;
	struct walk_bucket bucket;

	if (n < 2 || size != n)
		return 0;
	step = 1 + ((uint32_t)(address >> WALK_ENTRY_STEP_SHIFT) + 1) % (n - 1);
	for (uint32_t i = 0; i < WALK_ENTRY_TRIES; i++) {
		if (bpf_probe_read_user(&bucket, sizeof(bucket),
					(const void *)(buckets + (1ULL + at % n) * sizeof(bucket))))
			return 0;
		for (uint32_t j = 0; j < WALK_ENTRY_KEYS; j++)
			if (bucket.keys[j] == address)
				return bucket.values[j] << 1;
		if (!(bucket.values[0] & WALK_ENTRY_MORE))
			return 0;
		at += step;
	}
	return 0;
}

/*
 * The method that a file's function is part of. Only its first function is an entry: handlers of
 * exceptions are behind it. 0: not known.
 */
static __always_inline uint64_t walk_find_method(const struct walk_managed_code *code, uint64_t i)
{
	for (uint32_t j = 0; j < WALK_HANDLERS_MAX && i; j++) {
		uint32_t begin = 0;
		uint64_t method;

		i--;
		bpf_probe_read_user(
			&begin, sizeof(begin),
			(const void *)(code->functions + i * sizeof(struct dotnet_function)));
		method = walk_find_entry(code->methods, code->base + begin);
		if (method)
			return method;
	}
	return 0;
}

/* Finds the function of a file that has an address, and its method. */
static __always_inline void walk_find_in_file(struct walk_managed_code *code, uint64_t address)
{
	uint64_t place = address - code->base;

	code->known = walk_find_function_at(code->functions, code->n_functions, place, code->known);
	if (!code->known ||
	    walk_read_function_at(code->functions, code->known, place, &code->function))
		return;
	code->method = walk_find_method(code, code->known);
	code->begin = code->method ? code->base + code->function.begin : 0;
}

/* Opens the section that has an address: a heap, or the code of a file. */
__noinline int walk_open_section(const struct walk_managed *managed, struct walk_managed_code *code,
				 uint64_t address)
{
	struct walk_fragment fragment;
	uint64_t heap, info;
	uint32_t n = 0;

	if (!managed || !code)
		return 0;
	code->from = code->to = code->heap_map = code->functions = 0;
	walk_find_section(managed->map, address, &fragment);
	if (!fragment.section)
		return 0;
	code->from = fragment.begin;
	code->to = fragment.end;
	heap = walk_read_pointer(fragment.section + managed->section_heap);
	if (heap) {
		code->heap_base = walk_read_pointer(heap + managed->heap_base);
		code->heap_map = walk_read_pointer(heap + managed->heap_map);
		return 0;
	}
	info = walk_read_pointer(fragment.section + managed->section_module);
	info = info ? walk_read_pointer(info + managed->module_file) : 0;
	if (!info)
		return 0;
	code->base = fragment.begin;
	code->functions = walk_read_pointer(info + managed->file_functions);
	code->methods = walk_read_pointer(walk_read_pointer(info + managed->file_whole) +
					  managed->file_methods);
	bpf_probe_read_user(&n, sizeof(n), (const void *)(info + managed->file_count));
	code->n_functions = n;
	return 0;
}

/* Finds the code that has an address. `begin` 0: it is in none. */
__noinline int walk_find_managed(const struct walk_managed *managed, struct walk_managed_code *code,
				 uint64_t address)
{
	if (!managed || !code)
		return 0;
	code->begin = code->method = 0;
	if (address < code->from || address >= code->to)
		walk_open_section(managed, code, address);
	if (code->heap_map)
		code->begin = walk_find_in_heap(code, address);
	else if (code->functions)
		walk_find_in_file(code, address);
	return 0;
}
