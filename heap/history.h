/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each stack had alive at regular moments, as changes from one to the next. Moments get rarer
 * as the recording gets longer, and as more changes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HISTORY_MOMENTS = 128, /* an even number */
	HISTORY_CHANGES_MAX = 1 << 20,
};

/* A stack that has something else alive at a moment than it had at the one before. */
struct history_change {
	uint32_t stack, moment;
	uint64_t n, bytes; /* as struct heap_amount */
};

struct history {
	bool is_kept;
	uint64_t times[HISTORY_MOMENTS]; /* the last one is the end */
	uint32_t n_moments;
	uint64_t start, length;		/* nanoseconds */
	struct history_change *changes; /* in the order of moments */
	size_t n_changes;
	uint32_t *changed; /* stacks, since the last moment */
	size_t n_changed;
	uint32_t turn; /* counts moments; see heap_stack.changed_in */
};

struct heap;

/* From now on a history is kept; without the memory for it, or too many stacks, none is any more.
 */
void history_keep(struct heap *heap);
void history_deinit(struct history *history);

/* A stack is about to change. */
void history_note(struct heap *heap, uint32_t stack);

/* It is later than it was at any event before: passes the moments in between. */
void history_pass(struct heap *heap, uint64_t time);

/* One last moment, which is now. */
void history_end(struct heap *heap, uint64_t time);
