/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Each stack's live amount at regular moments, as changes from one moment to the next. The distance
 * of moments doubles when there are too many moments or changes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HISTORY_MOMENTS = 128, /* an even number */
	HISTORY_CHANGES_MAX = 1 << 20,
};

/* A stack that changed since the previous moment, and its live amount. */
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
	uint32_t *changed; /* stacks changed since the last moment */
	size_t n_changed;
	uint32_t turn; /* counts moments; see heap_stack.changed_in */
};

struct heap;

/* Starts a history. It is dropped if memory runs out or HISTORY_CHANGES_MAX is exceeded. */
void history_keep(struct heap *heap);
void history_deinit(struct history *history);

/* Must be called before a stack changes. */
void history_note(struct heap *heap, uint32_t stack);

/* Adds the moments before `time`, which is later than all earlier events. */
void history_pass(struct heap *heap, uint64_t time);

/* Adds the last moment, at `time`. */
void history_end(struct heap *heap, uint64_t time);
