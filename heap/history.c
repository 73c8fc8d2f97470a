/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "heap/heap.h"

#define LENGTH_FIRST_NS 1000000

void history_keep(struct heap *heap)
{
	heap->history = (struct history){ .is_kept = true, .length = LENGTH_FIRST_NS, .turn = 1 };
}

void history_deinit(struct history *history)
{
	free(history->changes);
	free(history->changed);
	*history = (struct history){ 0 };
}

/* Drops the history: the HTML page then has no moments to choose from; all else stays as it is. */
static void drop(struct heap *heap)
{
	history_deinit(&heap->history);
	heap->n_refused++;
}

void history_note(struct heap *heap, uint32_t number)
{
	struct history *history = &heap->history;
	struct heap_stack *stack = &heap->stacks[number];

	if (!history->is_kept || stack->changed_in == history->turn)
		return;
	if (GROWING_LIST_MAKE_ROOM(history->changed, history->n_changed) < 0) {
		drop(heap);
		return;
	}
	stack->changed_in = history->turn;
	history->changed[history->n_changed++] = number;
}

/*
 * Keeps the later one of each two moments. A stack's change at the earlier one is kept only if it
 * has none at the later one.
 */
static int join_pairs(struct heap *heap)
{
	struct history *history = &heap->history;
	size_t i = history->n_changes, to = i;
	_cleanup_free_ uint32_t *seen = calloc(heap->n_stacks + 1, sizeof(*seen));

	if (!seen)
		return -ENOMEM;
	while (i > 0) {
		struct history_change change = history->changes[--i];

		change.moment /= 2;
		if (seen[change.stack] == change.moment + 1)
			continue;
		seen[change.stack] = change.moment + 1;
		history->changes[--to] = change;
	}
	history->n_changes -= to;
	memmove(history->changes, history->changes + to,
		history->n_changes * sizeof(*history->changes));
	for (uint32_t k = 0; k < history->n_moments; k++)
		history->times[k / 2] = history->times[k];
	history->n_moments = (history->n_moments + 1) / 2;
	history->length *= 2;
	return 0;
}

static bool is_full(const struct history *history)
{
	return history->n_changes + history->n_changed > HISTORY_CHANGES_MAX;
}

/* 0; -ENOSPC: too many stacks change even with one moment left; -ENOMEM. */
static int make_room(struct heap *heap)
{
	struct history *history = &heap->history;
	int r = 0;

	while (r == 0 && history->n_moments > 1 &&
	       (history->n_moments == HISTORY_MOMENTS || is_full(history)))
		r = join_pairs(heap);
	return r == 0 && is_full(history) ? -ENOSPC : r;
}

static void add_moment(struct heap *heap, uint64_t time)
{
	struct history *history = &heap->history;
	int r = make_room(heap);

	for (size_t i = 0; i < history->n_changed && r == 0; i++) {
		uint32_t stack = history->changed[i];
		struct heap_amount live = heap->stacks[stack].totals.live;

		r = GROWING_LIST_ADD(
			history->changes, history->n_changes,
			(struct history_change){ stack, history->n_moments, live.n, live.bytes });
	}
	if (r < 0) {
		drop(heap);
		return;
	}
	history->times[history->n_moments++] = time;
	history->n_changed = 0;
	history->turn++;
}

/* Saturates, as a stream may contain the time UINT64_MAX. */
static uint64_t next_moment(const struct history *history)
{
	uint64_t moment =
		history->n_moments ? history->times[history->n_moments - 1] : history->start;

	sum_add(&moment, history->length);
	return moment;
}

void history_pass(struct heap *heap, uint64_t time)
{
	struct history *history = &heap->history;

	if (!history->start)
		history->start = time;
	while (history->is_kept && next_moment(history) < time)
		add_moment(heap, next_moment(history));
}

void history_end(struct heap *heap, uint64_t time)
{
	history_pass(heap, time);
	if (heap->history.is_kept)
		add_moment(heap, time);
}
