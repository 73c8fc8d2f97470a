/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The compiled unwind information of one image: from any file offset to the rule that holds there,
 * by the offset's page and a binary search in it. It is one piece of memory without pointers, so
 * that it is written to a file and mapped again as it is.
 *
 *   header | rules | pages: first row of each 64 KiB of the file
 *   | lows: offset of each row in its page | which: rule of each row
 *
 * A row holds up to the next one. Each page begins with a row, so that no search leaves a page.
 * Offsets are of the file, as in mappings, and not addresses as linked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/unwind/unwind-rule.h"

enum {
	UNWIND_PAGE_SIZE = 65536,
	UNWIND_RULE_NONE = 65535, /* in place of a rule: no information covers this code */
};

struct unwind_table_header {
	uint64_t first_page; /* number of the first page, in the file */
	uint32_t n_pages, n_rows, n_rules;
	uint32_t n_refused; /* FDEs, PLTs and Go functions: malformed, or not in the file */
};

struct unwind_table {
	const struct unwind_table_header *header; /* start of the memory, which is owned */
	size_t size;
	const uint32_t *pages; /* index of the first row of a page; n_pages + 1 of them */
	const uint16_t *lows;
	const uint16_t *which; /* index of a row's rule, or UNWIND_RULE_NONE */
	const struct unwind_rule *rules;
};

/* Locates the parts of a table whose header has been checked. */
static inline struct unwind_table unwind_table_parts(const struct unwind_table_header *header,
						     size_t size)
{
	struct unwind_table table = { .header = header, .size = size };

	table.rules = (const struct unwind_rule *)(header + 1);
	table.pages = (const uint32_t *)(table.rules + header->n_rules);
	table.lows = (const uint16_t *)(table.pages + header->n_pages + 1);
	table.which = table.lows + header->n_rows;
	return table;
}

/* Returns the rule at a file offset; NULL: none. */
static inline const struct unwind_rule *unwind_table_find(const struct unwind_table *table,
							  uint64_t offset)
{
	uint64_t page = offset / UNWIND_PAGE_SIZE - table->header->first_page;
	uint16_t low = offset % UNWIND_PAGE_SIZE;
	uint32_t first, n;

	if (page >= table->header->n_pages)
		return NULL;
	first = table->pages[page];
	n = table->pages[page + 1] - first;
	while (n > 1) { /* the row is among the n from `first` on */
		uint32_t half = n / 2;

		first += table->lows[first + half] <= low ? half : 0;
		n -= half;
	}
	return n && table->which[first] < table->header->n_rules
		       ? &table->rules[table->which[first]]
		       : NULL;
}
