/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inlined calls and source lines of a whole file in a few arrays, which a file can keep: what
 * debug_info_find() says of each address, without DWARF.
 */
#pragma once

#include <stdbool.h>

#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/dwarf/interval-map.h"
#include "symbolizer/dwarf/string-pool.h"

enum { CALL_BUILDER_MAX = 1 << 20 /* spans, rows, and entries: 32 bytes each; more are refused */ };

/* From an address on the innermost call has this number; INTERVAL_NONE: there is none. */
struct call_span {
	uint32_t offset, number;
};

/* A function, or an inlined call, and where that was made. Strings are numbers. */
struct call_entry {
	uint32_t name;
	uint32_t parent; /* that it was inlined into, of a smaller number; INTERVAL_NONE: none */
	uint32_t file, line, column;
};

/* From an address on the source has this line; all 0: it is not known. */
struct call_row {
	uint32_t offset, file, line, column;
};

/* A view of all arrays, of which offsets count from `base`. */
struct call_table {
	uint64_t base;
	const struct call_span *spans;
	const struct call_row *rows;
	const struct call_entry *entries;
	const char *strings; /* the last byte is 0 */
	size_t n_spans, n_rows, n_entries, strings_size;
};

/* A string by its number; NULL: there is none. */
const char *call_table_string(const struct call_table *table, uint32_t number);

/* As debug_info_find(), with the same limit. */
size_t call_table_find(const struct call_table *table, uint64_t address, struct inline_call *list,
		       size_t n_max);

/* What a table is made of, in any order. */
struct call_builder {
	struct string_pool strings;
	struct built_place *spans, *rows;
	struct call_entry *entries;
	size_t n_spans, n_rows, n_entries;
};

void call_builder_init(struct call_builder *builder);
void call_builder_deinit(struct call_builder *builder);

/* A place from which on something is so; `is_end`: unless something else begins there. */
struct built_place {
	uint64_t address;
	bool is_end;
	union {
		uint32_t number;
		struct call_row row; /* without its offset */
	};
};

/* Each adds one. 0, -ENOMEM or -EFBIG. */
int call_builder_add_span(struct call_builder *builder, const struct built_place *place);
int call_builder_add_row(struct call_builder *builder, const struct built_place *place);
int call_builder_add_entry(struct call_builder *builder, const struct call_entry *entry);

/*
 * Arrays of all that was added, owned by `ret`; the strings stay the builder's. 0, -ENOMEM or
 * -EFBIG: addresses lie too far apart.
 */
struct made_call_table {
	struct call_span *spans;
	struct call_row *rows;
	struct call_table table; /* of these, and of the builder's */
};

int call_builder_make(struct call_builder *builder, struct made_call_table *ret);
void made_call_table_deinit(struct made_call_table *calls);
