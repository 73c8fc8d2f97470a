/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "common/base/sum.h"
#include "profile/merge.h"

enum {
	BLOCK_MIN = 4096, /* samples that are close in time */
	BLOCK_GROWTH = 8,
};

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compares everything except time, count and weight. */
static int compare_kinds(const struct profile_sample *a, const struct profile_sample *b)
{
	int order = compare_numbers(a->thread, b->thread);

	if (!order)
		order = compare_numbers(a->node, b->node);
	if (!order)
		order = compare_numbers(a->waker, b->waker);
	if (!order)
		order = compare_numbers(a->context, b->context);
	if (!order)
		order = compare_numbers(a->event, b->event);
	if (!order)
		order = compare_numbers(a->end, b->end);
	return order ? order : compare_numbers(a->flags, b->flags);
}

static int by_time(const void *a, const void *b)
{
	const struct profile_sample *left = a, *right = b;
	int order = compare_numbers(left->time, right->time);

	return order ? order : compare_kinds(left, right);
}

static int by_kind(const void *a, const void *b)
{
	int order = compare_kinds(a, b);

	return order ? order : by_time(a, b);
}

static void add(const struct profile *profile, struct profile_sample *sample,
		const struct profile_sample *other)
{
	sum_add(&sample->n, other->n);
	sum_add(&sample->weight, other->weight);
	if (events_is_wait(&profile->stacks->events, sample->event))
		sample->flags |= WIRE_sample_flags_SAMPLED;
}

/* Returns the number of samples left of `n`. */
static size_t merge_block(const struct profile *profile, struct profile_sample *samples, size_t n)
{
	size_t n_left = 0;

	qsort(samples, n, sizeof(*samples), by_kind);
	for (size_t i = 0; i < n; i++) {
		struct profile_sample first = samples[i];

		while (i + 1 < n && !compare_kinds(&samples[i], &samples[i + 1]))
			add(profile, &first, &samples[++i]);
		samples[n_left++] = first;
	}
	qsort(samples, n_left, sizeof(*samples), by_time);
	return n_left;
}

static void merge_blocks(struct profile *profile, size_t block)
{
	size_t n_left = 0;

	for (size_t i = 0; i < profile->n_samples; i += block) {
		size_t n = profile->n_samples - i < block ? profile->n_samples - i : block;

		n = merge_block(profile, profile->samples + i, n);
		memmove(profile->samples + n_left, profile->samples + i,
			n * sizeof(*profile->samples));
		n_left += n;
	}
	profile->n_samples = n_left;
}

/* Samples that stand for at most `n` lose their stack, waker and context. */
static void drop_stacks(struct profile *profile, uint64_t n, uint32_t crowd)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];

		if (sample->n > n)
			continue;
		stacks_find_no_room(profile->stacks, sample->end, sample->n);
		sample->end = WIRE_stack_end_MORE_STACKS;
		sample->node = crowd;
		sample->waker = sample->context = sample->flags = 0;
	}
}

void profile_merge(struct profile *profile, uint32_t crowd)
{
	size_t n_wanted = profile->limits.samples / 2, block = BLOCK_MIN;
	uint64_t rare = 1;

	profile->has_repeats = true;
	for (; profile->n_samples > n_wanted && block / BLOCK_GROWTH < profile->n_samples;
	     block *= BLOCK_GROWTH)
		merge_blocks(profile, block);
	for (; profile->n_samples > n_wanted && rare; rare *= 2) {
		drop_stacks(profile, rare, crowd);
		merge_blocks(profile, profile->n_samples);
	}
}
