/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/base/hash.h"
#include "common/base/sum.h"
#include "formats/stack-counts.h"

enum {
	SLOTS_AT_FIRST = 1024,
	BLOCK_NAMES = 64 * 1024, /* for many stacks, and always for one */
};

_Static_assert(BLOCK_NAMES >= (int)STACK_COUNT_NAMES_MAX, "room for the longest");

/* The hash decides most comparisons without a look at the stack. */
struct stack_slot {
	uint32_t hash;
	uint32_t number; /* in the list, from 1; 0: free */
};

struct stack_block {
	struct stack_block *older;
	size_t n_used;
	uint32_t names[BLOCK_NAMES];
};

static uint64_t hash_names(const uint32_t *names, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++)
		hash = hash_word(hash, names[i]);
	return hash ^ hash >> 32;
}

void stack_counts_deinit(struct stack_counts *counts)
{
	struct stack_block *older;

	for (; counts->newest; counts->newest = older) {
		older = counts->newest->older;
		free(counts->newest);
	}
	free(counts->list);
	free(counts->slots);
	*counts = (struct stack_counts){ 0 };
}

static bool is_stack(const struct stack_count *count, const uint32_t *names, size_t n)
{
	return count->n_names == n && !memcmp(count->names, names, n * sizeof(*names));
}

/* The slot of a stack, or the free one for it. */
static struct stack_slot *find_slot(const struct stack_counts *counts, uint64_t hash,
				    const uint32_t *names, size_t n)
{
	return HASH_PROBE(counts->slots, counts->n_slots, hash, slot,
			  !slot->number || (slot->hash == (uint32_t)hash &&
					    is_stack(&counts->list[slot->number - 1], names, n)));
}

/* Doubles the slots, and makes room for half as many stacks. */
static int grow(struct stack_counts *counts)
{
	size_t n_slots = counts->n_slots ? counts->n_slots * 2 : SLOTS_AT_FIRST;
	struct stack_slot *slots;

	if (GROWING_LIST_RESIZE(counts->list, n_slots / 2) < 0)
		return -ENOMEM;
	slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(counts->slots);
	counts->slots = slots;
	counts->n_slots = n_slots;
	for (size_t i = 0; i < counts->n; i++) {
		const struct stack_count *count = &counts->list[i];
		uint64_t hash = hash_names(count->names, count->n_names);

		*find_slot(counts, hash, count->names, count->n_names) =
			(struct stack_slot){ hash, i + 1 };
	}
	return 0;
}

/* A copy with a fixed address; NULL: no memory. */
static const uint32_t *keep(struct stack_counts *counts, const uint32_t *names, size_t n)
{
	struct stack_block *block = counts->newest;
	uint32_t *kept;

	if (!block || BLOCK_NAMES - block->n_used < n) {
		block = malloc(sizeof(*block));
		if (!block)
			return NULL;
		block->older = counts->newest;
		block->n_used = 0;
		counts->newest = block;
	}
	kept = block->names + block->n_used;
	block->n_used += n;
	counts->n_names += n;
	return memcpy(kept, names, n * sizeof(*names));
}

static bool is_full(const struct stack_counts *counts, size_t n_names)
{
	return counts->n >= STACK_COUNTS_MAX || counts->n_names + n_names > STACK_COUNTS_NAMES_MAX;
}

static bool is_crowd(const struct stack_counts *counts, const uint32_t *names, size_t n_names)
{
	return counts->crowd && n_names == 2 && names[1] == counts->crowd;
}

/* Adds to the stack of a thread's dropped stacks; the thread is the first name. */
static int add_to_crowd(struct stack_counts *counts, const uint32_t *names, size_t n_names,
			uint64_t n_samples)
{
	const uint32_t crowd[] = { names[0], counts->crowd };

	if (!counts->crowd || is_crowd(counts, names, n_names)) {
		sum_add(&counts->n_other, n_samples);
		return 0;
	}
	sum_add(&counts->n_crowded, n_samples);
	return stack_counts_add_many(counts, crowd, 2, n_samples);
}

/* Makes room for many stacks at once. If that fails to help, it is not tried again. */
static void make_room(struct stack_counts *counts, size_t n_names)
{
	if (!counts->crowd || counts->is_packed || !is_full(counts, n_names))
		return;
	stack_counts_forget_rare(counts);
	counts->is_packed = counts->n > STACK_COUNTS_MAX / 4 * 3 ||
			    counts->n_names > STACK_COUNTS_NAMES_MAX / 4 * 3;
}

int stack_counts_add_many(struct stack_counts *counts, const uint32_t *names, size_t n_names,
			  uint64_t n_samples)
{
	uint64_t hash = hash_names(names, n_names);
	struct stack_slot *slot;
	const uint32_t *kept;

	make_room(counts, n_names);
	if (counts->n * 2 >= counts->n_slots && grow(counts) < 0)
		return -ENOMEM;
	slot = find_slot(counts, hash, names, n_names);
	if (slot->number) {
		sum_add(&counts->list[slot->number - 1].n_samples, n_samples);
		return 0;
	}
	if (is_full(counts, n_names))
		return add_to_crowd(counts, names, n_names, n_samples);
	kept = keep(counts, names, n_names);
	if (!kept)
		return -ENOMEM;
	counts->list[counts->n++] = (struct stack_count){ n_samples, n_names, kept };
	*slot = (struct stack_slot){ hash, counts->n };
	return 0;
}

/*
 * The least count of stacks to keep, so that at most half of stacks and names stay. (In a hostile
 * stream, more may have an absurd count.)
 */
static uint64_t find_threshold(const struct stack_counts *counts)
{
	for (uint64_t threshold = 2;; threshold *= 2) {
		size_t n = 0, n_names = 0;

		for (size_t i = 0; i < counts->n; i++) {
			if (counts->list[i].n_samples < threshold)
				continue;
			n++;
			n_names += counts->list[i].n_names;
		}
		if ((n <= counts->n / 2 && n_names <= counts->n_names / 2) || threshold >> 63)
			return threshold;
	}
}

void stack_counts_forget_rare(struct stack_counts *counts)
{
	struct stack_counts kept = { .crowd = counts->crowd,
				     .n_crowded = counts->n_crowded,
				     .n_other = counts->n_other };
	uint64_t threshold = find_threshold(counts);
	int r = 0;

	for (size_t i = 0; i < counts->n && r == 0; i++) {
		const struct stack_count *count = &counts->list[i];
		bool stays = (count->n_samples >= threshold && kept.n <= counts->n / 2) ||
			     is_crowd(counts, count->names, count->n_names);

		r = (stays ? stack_counts_add_many
			   : add_to_crowd)(&kept, count->names, count->n_names, count->n_samples);
	}
	if (r < 0) {
		stack_counts_deinit(&kept);
		return;
	}
	stack_counts_deinit(counts);
	*counts = kept;
}

int stack_counts_rename(struct stack_counts *counts, uint32_t (*rename)(uint32_t name, void *arg),
			void *arg)
{
	_cleanup_free_ uint32_t *names = calloc(STACK_COUNT_NAMES_MAX, sizeof(*names));
	struct stack_counts renamed = { .crowd = counts->crowd,
					.n_crowded = counts->n_crowded,
					.n_other = counts->n_other };

	for (size_t i = 0; i < counts->n; i++) {
		const struct stack_count *count = &counts->list[i];

		for (size_t k = 0; names && k < count->n_names; k++)
			names[k] = rename(count->names[k], arg);
		if (!names ||
		    stack_counts_add_many(&renamed, names, count->n_names, count->n_samples) < 0) {
			stack_counts_deinit(&renamed);
			return -ENOMEM;
		}
	}
	stack_counts_deinit(counts);
	*counts = renamed;
	return 0;
}

int stack_counts_list(const struct stack_counts *counts,
		      int (*compare)(const void *a, const void *b, void *arg), void *arg,
		      struct stack_count **ret, size_t *ret_n)
{
	struct stack_count *list = calloc(counts->n ? counts->n : 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	if (counts->n)
		memcpy(list, counts->list, counts->n * sizeof(*list));
	qsort_r(list, counts->n, sizeof(*list), compare, arg);
	*ret = list;
	*ret_n = counts->n;
	return 0;
}
