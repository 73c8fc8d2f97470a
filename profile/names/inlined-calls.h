/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of the calls inlined at locations: each distinct list is kept once and has a number. The
 * calls of a location come record by record, before its symbol.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	INLINED_CALLS_MAX = 256,       /* at a location; with more, none is shown */
	INLINED_CALLS_LISTS = 1 << 20, /* distinct lists; calls of further ones are not shown */
};

/* The line of an execution or a call in a function; all zero: not known. */
struct source_line {
	uint32_t file; /* a name's number */
	uint32_t line;
};

struct inlined_calls {
	struct inlined_list *by_calls;
	struct inlined_list **list; /* by number - 1 */
	size_t n;
	uint64_t image, offset;			/* the location whose calls are arriving */
	uint32_t coming[INLINED_CALLS_MAX + 1]; /* the innermost first */
	struct source_line coming_lines[INLINED_CALLS_MAX + 1];
	size_t n_coming;
	uint64_t n_refused; /* calls */
};

void inlined_calls_deinit(struct inlined_calls *calls);

/* Adds a call of a location. Drops calls of an earlier location that were not taken. */
void inlined_calls_add(struct inlined_calls *calls, uint64_t image, uint64_t offset, uint32_t name,
		       struct source_line line);

/*
 * Returns the number of the list of calls that came for a location, its function in front. 0: no
 * inlined call, or too many to keep.
 */
uint32_t inlined_calls_take(struct inlined_calls *calls, uint64_t image, uint64_t offset,
			    uint32_t function, struct source_line line);

/* The names of a list, the outermost first. */
const uint32_t *inlined_calls_get(const struct inlined_calls *calls, uint32_t number,
				  size_t *ret_n);

/* The lines of a list, in the same order. */
const struct source_line *inlined_calls_lines(const struct inlined_calls *calls, uint32_t number);
