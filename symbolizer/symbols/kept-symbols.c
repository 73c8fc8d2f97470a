/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/stream/file-identity.h"
#include "symbolizer/symbols/kept-symbols.h"

/* The number changes with the layout, or with what is found in an image. */
static const struct kept_kind kind = { "symbols", "symbols", "stackpipe symbols 1" };

/* A file begins with this; arrays follow in the order of their numbers, and strings at the end. */
struct kept_head {
	uint64_t n_symbols, n_ranges, n_entries, n_spans, n_rows, strings_size;
	uint64_t base; /* of calls and lines */
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

bool kept_source_of(int fd, struct kept_source *ret)
{
	struct stat status;

	*ret = (struct kept_source){ 0 };
	if (fd < 0)
		return true;
	if (fstat(fd, &status) < 0 || !file_device_lasts(fd, &status, &ret->device))
		return false;
	ret->inode = status.st_ino;
	ret->size = status.st_size;
	ret->modified_ns = clock_nanoseconds(status.st_mtim);
	ret->changed_ns = clock_nanoseconds(status.st_ctim);
	return true;
}

int kept_symbols_open(void)
{
	return kept_files_open(&kind);
}

/* Where each part begins in a file. */
struct kept_layout {
	size_t symbols, ranges, entries, spans, rows, strings, size;
};

/* Advances by `n` items. False: that is beyond any file. */
static bool pass(size_t *at, uint64_t n, size_t item_size)
{
	size_t size;

	return !__builtin_mul_overflow(n, item_size, &size) &&
	       !__builtin_add_overflow(*at, size, at);
}

static bool lay_out(const struct kept_head *head, struct kept_layout *ret)
{
	size_t at = sizeof(*head);

	ret->symbols = at;
	if (!pass(&at, head->n_symbols, sizeof(struct kept_symbol)))
		return false;
	ret->ranges = at;
	if (!pass(&at, head->n_ranges, sizeof(struct code_range)))
		return false;
	ret->entries = at;
	if (!pass(&at, head->n_entries, sizeof(struct call_entry)))
		return false;
	ret->spans = at;
	if (!pass(&at, head->n_spans, sizeof(struct call_span)))
		return false;
	ret->rows = at;
	if (!pass(&at, head->n_rows, sizeof(struct call_row)))
		return false;
	ret->strings = at;
	if (!pass(&at, head->strings_size, 1))
		return false;
	ret->size = at;
	return true;
}

/* False: the file is not of this form. */
static bool view(struct kept_symbols *kept)
{
	const char *bytes = kept->file.bytes;
	const struct kept_head *head = kept->file.bytes;
	struct kept_layout layout;

	if (kept->file.size < sizeof(*head) || !lay_out(head, &layout) ||
	    layout.size != kept->file.size || !head->strings_size || bytes[layout.size - 1])
		return false;
	kept->head = head;
	kept->symbols = (const void *)(bytes + layout.symbols);
	kept->ranges = (const void *)(bytes + layout.ranges);
	kept->has_debug = head->has_debug;
	kept->calls = (struct call_table){
		.base = head->base,
		.spans = (const void *)(bytes + layout.spans),
		.rows = (const void *)(bytes + layout.rows),
		.entries = (const void *)(bytes + layout.entries),
		.strings = bytes + layout.strings,
		.n_spans = head->n_spans,
		.n_rows = head->n_rows,
		.n_entries = head->n_entries,
		.strings_size = head->strings_size,
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
		.list = calloc(kept->head->n_symbols + 1, sizeof(*ret->list)),
		.is_stripped = kept->head->is_stripped,
		.has_locals = kept->head->has_locals,
	};
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < kept->head->n_symbols; i++) {
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
	size_t size = kept->head->n_ranges * sizeof(*ret->list);

	ret->list = malloc(size + 1);
	if (!ret->list)
		return -ENOMEM;
	memcpy(ret->list, kept->ranges, size);
	ret->n = kept->head->n_ranges;
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

static void put(char *bytes, size_t at, const void *list, size_t size)
{
	if (size)
		memcpy(bytes + at, list, size);
}

/* All parts one behind the other, in memory that the caller frees. NULL: there is none. */
static char *join(const struct kept_head *head, const struct kept_layout *layout,
		  const struct kept_symbol *symbols, const struct code_range *ranges,
		  const struct call_table *calls)
{
	char *bytes = malloc(layout->size);

	if (!bytes)
		return NULL;
	put(bytes, 0, head, sizeof(*head));
	put(bytes, layout->symbols, symbols, layout->ranges - layout->symbols);
	put(bytes, layout->ranges, ranges, layout->entries - layout->ranges);
	put(bytes, layout->entries, calls->entries, layout->spans - layout->entries);
	put(bytes, layout->spans, calls->spans, layout->rows - layout->spans);
	put(bytes, layout->rows, calls->rows, layout->strings - layout->rows);
	put(bytes, layout->strings, calls->strings, head->strings_size);
	return bytes;
}

int kept_symbols_save(int directory, const struct kept_symbols_key *key,
		      const struct kept_parts *parts)
{
	_cleanup_(made_call_table_deinit) struct made_call_table calls = { 0 };
	struct string_pool *strings = &parts->calls->strings;
	_cleanup_free_ struct kept_symbol *symbols = calloc(parts->table->n + 1, sizeof(*symbols));
	_cleanup_free_ char *bytes = NULL;
	struct kept_layout layout;
	struct kept_head head;
	int r = symbols ? 0 : -ENOMEM;

	for (size_t i = 0; i < parts->table->n && r == 0; i++) {
		symbols[i] = keep_symbol(&parts->table->list[i], strings);
		r = strings->error;
	}
	if (r == 0)
		r = call_builder_make(parts->calls, &calls);
	if (r < 0)
		return r;
	head = (struct kept_head){
		.n_symbols = parts->table->n,
		.n_ranges = parts->ranges->n,
		.n_entries = calls.table.n_entries,
		.n_spans = calls.table.n_spans,
		.n_rows = calls.table.n_rows,
		.strings_size = calls.table.strings_size,
		.base = calls.table.base,
		.has_debug = parts->has_debug,
		.is_stripped = parts->table->is_stripped,
		.has_locals = parts->table->has_locals,
	};
	if (!lay_out(&head, &layout))
		return -EFBIG;
	bytes = join(&head, &layout, symbols, parts->ranges->list, &calls.table);
	return bytes ? kept_file_save(directory, &kind, key, sizeof(*key), bytes, layout.size)
		     : -ENOMEM;
}
