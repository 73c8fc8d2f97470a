/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "symbolizer/symbols/kept-symbols.h"

/* The number changes with the layout, or with what is found in an image. */
static const struct kept_kind kind = { "symbols", "symbols", "stackpipe symbols 1" };

/* The arrays of a file, in their order. */
enum kept_part {
	KEPT_SYMBOLS,
	KEPT_RANGES,
	KEPT_ENTRIES,
	KEPT_SPANS,
	KEPT_ROWS,
	KEPT_STRINGS,
	KEPT_PARTS_MAX,
};

/* A file begins with this. */
struct kept_head {
	uint64_t n[KEPT_PARTS_MAX]; /* items of each array */
	uint64_t base;		    /* of calls and lines */
	uint32_t has_debug, is_stripped, has_locals, reserved;
};

enum kept_flag {
	KEPT_IS_SIZED = 1,
	KEPT_IS_LABEL = 2,
	KEPT_IS_STUB = 4,
};

struct kept_symbol {
	uint64_t address, size;
	uint32_t name;
	uint16_t n_folded, flags;
};

int kept_symbols_open(void)
{
	return kept_files_open(&kind);
}

static const size_t item_sizes[KEPT_PARTS_MAX] = {
	[KEPT_SYMBOLS] = sizeof(struct kept_symbol), [KEPT_RANGES] = sizeof(struct code_range),
	[KEPT_ENTRIES] = sizeof(struct call_entry),  [KEPT_SPANS] = sizeof(struct call_span),
	[KEPT_ROWS] = sizeof(struct call_row),	     [KEPT_STRINGS] = 1,
};

/* Finds where each array begins, and at last the end of all. False: that is beyond any file. */
static bool lay_out(const struct kept_head *head, size_t ret[KEPT_PARTS_MAX + 1])
{
	ret[0] = sizeof(*head);
	for (size_t i = 0; i < KEPT_PARTS_MAX; i++) {
		size_t size;

		if (__builtin_mul_overflow(head->n[i], item_sizes[i], &size) ||
		    __builtin_add_overflow(ret[i], size, &ret[i + 1]))
			return false;
	}
	return true;
}

/* False: the file is not of this form. */
static bool view(struct kept_symbols *kept)
{
	const char *bytes = kept->file.bytes;
	const struct kept_head *head = kept->file.bytes;
	size_t at[KEPT_PARTS_MAX + 1];

	if (kept->file.size < sizeof(*head) || !lay_out(head, at) ||
	    at[KEPT_PARTS_MAX] != kept->file.size || !head->n[KEPT_STRINGS] ||
	    bytes[kept->file.size - 1])
		return false;
	kept->head = head;
	kept->symbols = (const void *)(bytes + at[KEPT_SYMBOLS]);
	kept->ranges = (const void *)(bytes + at[KEPT_RANGES]);
	kept->has_debug = head->has_debug;
	kept->calls = (struct call_table){
		.base = head->base,
		.entries = (const void *)(bytes + at[KEPT_ENTRIES]),
		.spans = (const void *)(bytes + at[KEPT_SPANS]),
		.rows = (const void *)(bytes + at[KEPT_ROWS]),
		.strings = bytes + at[KEPT_STRINGS],
		.n_entries = head->n[KEPT_ENTRIES],
		.n_spans = head->n[KEPT_SPANS],
		.n_rows = head->n[KEPT_ROWS],
		.strings_size = head->n[KEPT_STRINGS],
	};
	return true;
}

int kept_symbols_load(int directory, const struct kept_symbols_key *key, struct kept_symbols *ret)
{
	int r = kept_file_load(directory, &kind, key, sizeof(*key), &ret->file);

	if (r < 0 || view(ret))
		return r;
	kept_symbols_unload(ret);
	return -ENOENT;
}

void kept_symbols_unload(struct kept_symbols *kept)
{
	kept_file_unmap(&kept->file);
	*kept = (struct kept_symbols){ 0 };
}

int kept_symbols_copy_table(const struct kept_symbols *kept, struct symbol_table *ret)
{
	*ret = (struct symbol_table){
		.debug.fd = -1,
		.list = calloc(kept->head->n[KEPT_SYMBOLS] + 1, sizeof(*ret->list)),
		.is_stripped = kept->head->is_stripped,
		.has_locals = kept->head->has_locals,
	};
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < kept->head->n[KEPT_SYMBOLS]; i++) {
		const struct kept_symbol *symbol = &kept->symbols[i];

		ret->list[ret->n++] = (struct symbol){
			.address = symbol->address,
			.size = symbol->size,
			.name = call_table_string(&kept->calls, symbol->name) ?: "",
			.suffix = symbol->flags & KEPT_IS_STUB ? SYMBOL_STUB_SUFFIX : "",
			.n_folded = symbol->n_folded,
			.is_sized = symbol->flags & KEPT_IS_SIZED,
			.is_label = symbol->flags & KEPT_IS_LABEL,

		};
	}
	return 0;
}

int kept_symbols_copy_ranges(const struct kept_symbols *kept, struct code_ranges *ret)
{
	size_t size = kept->head->n[KEPT_RANGES] * sizeof(*ret->list);

	ret->list = malloc(size + 1);
	if (!ret->list)
		return -ENOMEM;
	memcpy(ret->list, kept->ranges, size);
	ret->n = kept->head->n[KEPT_RANGES];
	return 0;
}

static struct kept_symbol keep_symbol(const struct symbol *symbol, struct string_pool *strings)
{
	return (struct kept_symbol){
		.address = symbol->address,
		.size = symbol->size,
		.name = string_pool_add(strings, symbol->name),
		.n_folded = symbol->n_folded,
		.flags = (symbol->is_sized ? KEPT_IS_SIZED : 0) |
			 (symbol->is_label ? KEPT_IS_LABEL : 0) |
			 (*symbol->suffix ? KEPT_IS_STUB : 0),
	};
}

/* All arrays one behind the other, in memory that the caller frees. NULL: there is none. */
static char *join(const struct kept_head *head, const void *const parts[KEPT_PARTS_MAX],
		  const size_t at[KEPT_PARTS_MAX + 1])
{
	char *bytes = malloc(at[KEPT_PARTS_MAX]);

	if (!bytes)
		return NULL;
	memcpy(bytes, head, sizeof(*head));
	for (size_t i = 0; i < KEPT_PARTS_MAX; i++)
		if (at[i + 1] > at[i])
			memcpy(bytes + at[i], parts[i], at[i + 1] - at[i]);
	return bytes;
}

/* Converts symbols; the caller frees them. 0 or -errno. */
static int keep_table(const struct symbol_table *table, struct string_pool *strings,
		      struct kept_symbol **ret)
{
	*ret = calloc(table->n + 1, sizeof(**ret));
	for (size_t i = 0; i < table->n && *ret; i++)
		(*ret)[i] = keep_symbol(&table->list[i], strings);
	return *ret ? strings->error : -ENOMEM;
}

int kept_symbols_save(int directory, const struct kept_symbols_key *key,
		      const struct kept_parts *parts)
{
	_cleanup_(made_call_table_deinit) struct made_call_table calls = { 0 };
	_cleanup_free_ struct kept_symbol *symbols = NULL;
	_cleanup_free_ char *bytes = NULL;
	size_t at[KEPT_PARTS_MAX + 1];
	struct kept_head head;
	int r = keep_table(parts->table, &parts->calls->strings, &symbols);

	if (r == 0)
		r = call_builder_make(parts->calls, &calls);
	if (r < 0)
		return r;
	head = (struct kept_head){
		.n = { parts->table->n, parts->ranges->n, calls.table.n_entries,
		       calls.table.n_spans, calls.table.n_rows, calls.table.strings_size },
		.base = calls.table.base,
		.has_debug = parts->has_debug,
		.is_stripped = parts->table->is_stripped,
		.has_locals = parts->table->has_locals,
	};
	if (!lay_out(&head, at))
		return -EFBIG;
	bytes = join(&head,
		     (const void *const[KEPT_PARTS_MAX]){ symbols, parts->ranges->list,
							  calls.table.entries, calls.table.spans,
							  calls.table.rows, calls.table.strings },
		     at);
	return bytes ? kept_file_save(directory, &kind, key, sizeof(*key), bytes,
				      at[KEPT_PARTS_MAX])
		     : -ENOMEM;
}
