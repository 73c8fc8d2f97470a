/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile unwind information and hostile unwind tables. An input is a struct header, then one or
 * two sections to compile, or a table. The second section may be a PLT's code.
 */
#include "common/base/cleanup.h"
#include "common/unwind/unwind-table.h"
#include "tests/fuzz/fuzz.h"

enum {
	MODE_TABLE = 1,		 /* a table follows instead of sections */
	MODE_AARCH64 = 2,	 /* else x86-64 */
	MODE_TWO_SECTIONS = 4,	 /* the second starts at offset `split` */
	MODE_DEBUG_FRAME = 8,	 /* the first section is .debug_frame; else .eh_frame */
	MODE_THEN_EH_FRAME = 16, /* the second is .eh_frame; else .debug_frame */
	MODE_THEN_PLT = 32,	 /* or it is PLT code */

	SEGMENTS_MAX = 3,
	ROWS_MAX = 256,	  /* rows examined per table, evenly spread */
	RANDOM_MAX = 256, /* lookups at random offsets */
};

struct header {
	uint8_t mode;
	uint8_t n_segments;
	uint16_t split;
	uint32_t seed; /* for random offsets */
	uint64_t section_addresses[2];
	struct unwind_segment segments[SEGMENTS_MAX];
};

static uint64_t make_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33 ^ *state << 31;
}

/* Looks up an offset; the result must be one of the table's rules or NULL. */
static const struct unwind_rule *look_up(const struct unwind_table *table, uint64_t offset)
{
	const struct unwind_rule *rule = unwind_table_find(table, offset);

	fuzz_check(!rule || (rule >= table->rules && rule < table->rules + table->header->n_rules));
	return rule;
}

/* File offset of a page's row. */
static uint64_t offset_of(const struct unwind_table *table, uint32_t page, uint32_t row)
{
	return (table->header->first_page + page) * UNWIND_PAGE_SIZE + table->lows[row];
}

static const struct unwind_rule *rule_of(const struct unwind_table *table, uint32_t row)
{
	return table->which[row] == UNWIND_RULE_NONE ? NULL : &table->rules[table->which[row]];
}

static void look_around(const struct unwind_table *table, uint32_t page, uint32_t row)
{
	uint64_t offset = offset_of(table, page, row);

	look_up(table, offset - 1);
	look_up(table, offset);
	look_up(table, offset + 1);
}

static void look_anywhere(const struct unwind_table *table, uint64_t seed)
{
	uint64_t size = (uint64_t)table->header->n_pages * UNWIND_PAGE_SIZE;

	for (int i = 0; i < RANDOM_MAX; i++) {
		uint64_t random = make_random(&seed);

		look_up(table, random);
		if (size)
			look_up(table,
				table->header->first_page * UNWIND_PAGE_SIZE + random % size);
	}
	look_up(table, 0);
	look_up(table, UINT64_MAX);
}

/* Checks any table, however damaged. */
static void look_at_rows(const struct unwind_table *table)
{
	uint32_t step = table->header->n_rows / ROWS_MAX + 1;

	for (uint32_t page = 0; page < table->header->n_pages; page++)
		for (uint32_t row = table->pages[page]; row < table->pages[page + 1]; row += step)
			look_around(table, page, row);
}

static void check_rule(const struct unwind_rule *rule)
{
	fuzz_check(rule->cfa >= UNWIND_CFA_SP && rule->cfa <= UNWIND_CFA_FALLBACK);
	if (rule->cfa == UNWIND_CFA_FALLBACK) /* the other fields are unused */
		return;
	fuzz_check(rule->return_address >= UNWIND_VALUE_SAME &&
		   rule->return_address <= UNWIND_VALUE_FALLBACK);
	fuzz_check(rule->fp >= UNWIND_VALUE_SAME && rule->fp <= UNWIND_VALUE_FALLBACK);
	fuzz_check(!(rule->flags &
		     ~(UNWIND_FLAG_SIGNAL | UNWIND_FLAG_INFERRED | UNWIND_FLAG_CONTRADICTS)));
	if (rule->flags & UNWIND_FLAG_INFERRED)
		fuzz_check(rule->cfa == UNWIND_CFA_SP &&
			   (rule->fp == UNWIND_VALUE_SAME || rule->fp == UNWIND_VALUE_UNDEFINED));
}

/* In a compiled table a row is found at its offset, and the row before it just below. */
static void check_row(const struct unwind_table *table, uint32_t page, uint32_t row)
{
	uint64_t offset = offset_of(table, page, row);
	bool is_first = row == table->pages[page], is_last = row + 1 == table->pages[page + 1];

	fuzz_check(table->which[row] < table->header->n_rules ||
		   table->which[row] == UNWIND_RULE_NONE);
	fuzz_check(is_first ? table->lows[row] == 0 : table->lows[row] > table->lows[row - 1]);
	fuzz_check(look_up(table, offset) == rule_of(table, row));
	fuzz_check(look_up(table, offset - 1) == (row ? rule_of(table, row - 1) : NULL));
	if (!is_last && table->lows[row + 1] > table->lows[row] + 1)
		fuzz_check(look_up(table, offset + 1) == rule_of(table, row));
}

static void check_compiled(const struct unwind_table *table)
{
	const struct unwind_table_header *header = table->header;
	uint32_t step = header->n_rows / ROWS_MAX + 1;
	struct unwind_table view;

	fuzz_check(unwind_table_view(header, table->size, &view));
	fuzz_check(!memcmp(&view, table, sizeof(view)));
	fuzz_check(header->n_pages == 0 || table->pages[0] == 0);
	for (uint32_t i = 0; i < header->n_rules; i++)
		check_rule(&table->rules[i]);
	for (uint32_t page = 0; page < header->n_pages; page++) {
		fuzz_check(table->pages[page] < table->pages[page + 1]);
		for (uint32_t row = table->pages[page]; row < table->pages[page + 1]; row += step)
			check_row(table, page, row);
	}
	/* The last row of a compiled table ends its code. */
	if (header->n_rows)
		fuzz_check(table->which[header->n_rows - 1] == UNWIND_RULE_NONE);
}

static void check_source(const struct unwind_source *source, uint64_t seed)
{
	_cleanup_(unwind_table_deinit) struct unwind_table table = { 0 }, again = { 0 };

	fuzz_check(unwind_table_compile(source, &table) == 0);
	check_compiled(&table);
	look_anywhere(&table, seed);
	fuzz_check(unwind_table_compile(source, &again) == 0);
	fuzz_check(again.size == table.size && !memcmp(again.header, table.header, table.size));
}

static void take_sections(const struct header *header, struct fuzz_input *input)
{
	_cleanup_free_ uint8_t *first = NULL, *second = NULL;
	bool has_two = header->mode & MODE_TWO_SECTIONS;
	struct cfi_section sections[2] = {
		{ .kind = header->mode & MODE_DEBUG_FRAME ? CFI_DEBUG_FRAME : CFI_EH_FRAME },
		{ .kind = header->mode & MODE_THEN_EH_FRAME ? CFI_EH_FRAME : CFI_DEBUG_FRAME },
	};
	struct plt_code plt;
	struct unwind_source source = {
		.arch = header->mode & MODE_AARCH64 ? &unwind_aarch64 : &unwind_x86_64,
		.segments = header->segments,
		.n_segments = header->n_segments < SEGMENTS_MAX ? header->n_segments : SEGMENTS_MAX,
		.sections = sections,
		.n_sections = has_two ? 2 : 1,
	};

	first = fuzz_take_block(input, has_two ? header->split : SIZE_MAX, &sections[0].size);
	second = fuzz_take_block(input, SIZE_MAX, &sections[1].size);
	sections[0].bytes = first;
	sections[1].bytes = second;
	for (size_t i = 0; i < 2; i++)
		sections[i].address = header->section_addresses[i];
	if (has_two && header->mode & MODE_THEN_PLT) {
		source.n_sections = 1;
		source.plts = &plt;
		source.n_plts = source.arch->plt_rows ? 1 : 0;
		plt = (struct plt_code){ sections[1].address, second, sections[1].size };
	}
	check_source(&source, header->seed);
}

static void take_table(const struct header *header, struct fuzz_input *input)
{
	size_t size;
	_cleanup_free_ uint8_t *bytes = fuzz_take_block(input, SIZE_MAX, &size);
	struct unwind_table table;

	if (!unwind_table_view(bytes, size, &table))
		return;
	look_at_rows(&table);
	look_anywhere(&table, header->seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input input = { bytes, size };
	struct header header;

	fuzz_take(&input, &header, sizeof(header));
	if (header.mode & MODE_TABLE)
		take_table(&header, &input);
	else
		take_sections(&header, &input);
	return 0;
}
