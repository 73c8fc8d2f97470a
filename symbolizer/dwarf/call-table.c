/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "common/base/binary-search.h"
#include "common/base/growing-list.h"
#include "symbolizer/dwarf/call-table.h"

const char *call_table_string(const struct call_table *table, uint32_t number)
{
	return number && number < table->strings_size ? table->strings + number : NULL;
}

static const struct call_entry *find_entry(const struct call_table *table, uint32_t number)
{
	return number < table->n_entries ? &table->entries[number] : NULL;
}

/* What an entry was inlined into; NULL: it is a function. */
static const struct call_entry *outer_of(const struct call_table *table,
					 const struct call_entry *entry)
{
	return entry->parent < entry - table->entries ? &table->entries[entry->parent] : NULL;
}

static const struct call_entry *find_innermost(const struct call_table *table, uint32_t offset)
{
	size_t low = BINARY_SEARCH(i, 0, table->n_spans, table->spans[i].offset <= offset);

	return low ? find_entry(table, table->spans[low - 1].number) : NULL;
}

static void put_line(const struct call_table *table, uint32_t offset, struct inline_call *call)
{
	size_t low = BINARY_SEARCH(i, 0, table->n_rows, table->rows[i].offset <= offset);
	const struct call_row *row = low ? &table->rows[low - 1] : NULL;

	if (!row)
		return;
	call->file = call_table_string(table, row->file);
	call->line = row->line;
	call->column = row->column;
}

/* Puts only the function. */
static size_t put_function(const struct call_table *table, const struct call_entry *entry,
			   struct inline_call *list)
{
	const struct call_entry *outer;

	while ((outer = outer_of(table, entry)))
		entry = outer;
	list[0] = (struct inline_call){ .name = call_table_string(table, entry->name) };
	return 1;
}

size_t call_table_find(const struct call_table *table, uint64_t address, struct inline_call *list,
		       size_t n_max)
{
	const struct call_entry *innermost, *outer;
	uint64_t offset = address - table->base;
	size_t n = 0;

	if (address < table->base || offset > UINT32_MAX)
		return 0;
	innermost = find_innermost(table, offset);
	list[0] = (struct inline_call){ 0 };
	if (!innermost) { /* code outside functions, as in assembler */
		put_line(table, offset, &list[0]);
		return list[0].file ? 1 : 0;
	}
	for (outer = innermost; outer && n <= n_max; outer = outer_of(table, outer))
		n++;
	if (n > n_max)
		return put_function(table, innermost, list);
	put_line(table, offset, &list[0]);
	outer = innermost;
	for (size_t i = 0; i < n; i++, outer = outer_of(table, outer)) {
		list[i].name = call_table_string(table, outer->name);
		if (i + 1 < n)
			list[i + 1] = (struct inline_call){
				.file = call_table_string(table, outer->file),
				.line = outer->line,
				.column = outer->column,
			};
	}
	return n;
}

void call_builder_init(struct call_builder *builder)
{
	*builder = (struct call_builder){ 0 };
	string_pool_init(&builder->strings);
}

void call_builder_deinit(struct call_builder *builder)
{
	string_pool_deinit(&builder->strings);
	free(builder->spans);
	free(builder->rows);
	free(builder->entries);
	*builder = (struct call_builder){ 0 };
}

int call_builder_add_span(struct call_builder *builder, const struct built_place *place)
{
	if (builder->n_spans == CALL_BUILDER_MAX)
		return -EFBIG;
	return GROWING_LIST_ADD(builder->spans, builder->n_spans, *place);
}

int call_builder_add_row(struct call_builder *builder, const struct built_place *place)
{
	if (builder->n_rows == CALL_BUILDER_MAX)
		return -EFBIG;
	return GROWING_LIST_ADD(builder->rows, builder->n_rows, *place);
}

int call_builder_add_entry(struct call_builder *builder, const struct call_entry *entry)
{
	if (builder->n_entries == CALL_BUILDER_MAX)
		return -EFBIG;
	return GROWING_LIST_ADD(builder->entries, builder->n_entries, *entry);
}

/* What begins at an address comes behind what ends there. */
static int compare(const void *a, const void *b)
{
	const struct built_place *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->is_end ? 0 : 1) - (right->is_end ? 0 : 1);
}

/* Sorts places, and keeps the last one of each address. */
static void sort(struct built_place *list, size_t *n)
{
	size_t n_kept = 0;

	if (*n)
		qsort(list, *n, sizeof(*list), compare);
	for (size_t i = 0; i < *n; i++) {
		if (n_kept && list[n_kept - 1].address == list[i].address)
			n_kept--;
		list[n_kept++] = list[i];
	}
	*n = n_kept;
}

/* The range of addresses of both lists, sorted. False: there are none. */
static bool find_bounds(const struct call_builder *builder, uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = UINT64_MAX;
	*ret_to = 0;
	if (builder->n_spans) {
		*ret_from = builder->spans[0].address;
		*ret_to = builder->spans[builder->n_spans - 1].address;
	}
	if (builder->n_rows) {
		uint64_t from = builder->rows[0].address,
			 to = builder->rows[builder->n_rows - 1].address;

		*ret_from = from < *ret_from ? from : *ret_from;
		*ret_to = to > *ret_to ? to : *ret_to;
	}
	return builder->n_spans || builder->n_rows;
}

static void fill_spans(const struct call_builder *builder, struct made_call_table *ret)
{
	for (size_t i = 0; i < builder->n_spans; i++) {
		struct call_span span = { builder->spans[i].address - ret->table.base,
					  builder->spans[i].number };

		if (!ret->table.n_spans || ret->spans[ret->table.n_spans - 1].number != span.number)
			ret->spans[ret->table.n_spans++] = span;
	}
}

static bool is_same_line(const struct call_row *left, const struct call_row *right)
{
	return left->file == right->file && left->line == right->line &&
	       left->column == right->column;
}

static void fill_rows(const struct call_builder *builder, struct made_call_table *ret)
{
	for (size_t i = 0; i < builder->n_rows; i++) {
		struct call_row row = builder->rows[i].row;

		row.offset = builder->rows[i].address - ret->table.base;
		if (!ret->table.n_rows || !is_same_line(&ret->rows[ret->table.n_rows - 1], &row))
			ret->rows[ret->table.n_rows++] = row;
	}
}

int call_builder_make(struct call_builder *builder, struct made_call_table *ret)
{
	uint64_t from, to;

	*ret = (struct made_call_table){ 0 };
	sort(builder->spans, &builder->n_spans);
	sort(builder->rows, &builder->n_rows);
	if (!find_bounds(builder, &from, &to))
		from = to = 0;
	if (to - from > UINT32_MAX)
		return -EFBIG;
	ret->spans = calloc(builder->n_spans + 1, sizeof(*ret->spans));
	ret->rows = calloc(builder->n_rows + 1, sizeof(*ret->rows));
	if (!ret->spans || !ret->rows) {
		made_call_table_deinit(ret);
		return -ENOMEM;
	}
	ret->table = (struct call_table){
		.base = from,
		.spans = ret->spans,
		.rows = ret->rows,
		.entries = builder->entries,
		.n_entries = builder->n_entries,
		.strings = builder->strings.bytes,
		.strings_size = builder->strings.size,
	};
	fill_spans(builder, ret);
	fill_rows(builder, ret);
	return 0;
}

void made_call_table_deinit(struct made_call_table *calls)
{
	free(calls->spans);
	free(calls->rows);
	*calls = (struct made_call_table){ 0 };
}
