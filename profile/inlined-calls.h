/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was inlined at places: lists of names, each distinct one kept once, with a number. The calls
 * of a place come record by record, and are a list once its symbol comes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	INLINED_CALLS_MAX = 256,       /* at a place; then none of them is shown */
	INLINED_CALLS_LISTS = 1 << 20, /* distinct; the calls of others are not shown */
};

/* Where in a function execution is, or a call: both 0 if it is not known. */
struct source_line {
	uint32_t file; /* a name's number */
	uint32_t line;
};

struct inlined_calls {
	struct inlined_list *by_calls;
	struct inlined_list **list; /* by number */
	size_t n;
	uint64_t image, offset;			/* the place whose calls are coming */
	uint32_t coming[INLINED_CALLS_MAX + 1]; /* the innermost first */
	struct source_line coming_lines[INLINED_CALLS_MAX + 1];
	size_t n_coming;
	uint64_t n_refused; /* calls */
};

void inlined_calls_deinit(struct inlined_calls *calls);

/* One more call of a place; what came for another one is forgotten. */
void inlined_calls_add(struct inlined_calls *calls, uint64_t image, uint64_t offset, uint32_t name,
		       struct source_line line);

/*
 * The number of the list that has come for a place, with its function in front; 0: nothing was
 * inlined there, or what was cannot be kept.
 */
uint32_t inlined_calls_take(struct inlined_calls *calls, uint64_t image, uint64_t offset,
			    uint32_t function, struct source_line line);

/* The names of a list, the outermost first. */
const uint32_t *inlined_calls_get(const struct inlined_calls *calls, uint32_t number,
				  size_t *ret_n);

/* Their lines. */
const struct source_line *inlined_calls_lines(const struct inlined_calls *calls, uint32_t number);
