/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables compiled from hand-made sources: each offset has the expected rule or none. */
#include "common/unwind/test-table-made.h"

static void test_without_information_there_are_no_rules(void **state)
{
	const struct unwind_source source = { .arch = &unwind_x86_64 };
	_cleanup_table_ struct unwind_table table = { 0 };

	assert_int_equal(unwind_table_compile(&source, &table), 0);
	assert_null(unwind_table_find(&table, 0));
	assert_null(unwind_table_find(&table, UINT64_MAX));
	assert_int_equal(table.header->n_rows, 0);
	assert_int_equal(table.header->n_refused, 0);
}

static void test_gaps_between_descriptions_have_no_rule(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x1000, 0x1040, 16);
	put_code(&file, EH, 0x1080, 0x10c0, 24);
	put_code(&file, EH, 0x10c0, 0x1100, 32);
	table = compile(&file);
	assert_marked(&table, 0, 0x1000, NONE);
	assert_marked(&table, 0x1000, 0x1040, 16);
	assert_marked(&table, 0x1040, 0x1080, NONE);
	assert_marked(&table, 0x1080, 0x10c0, 24);
	assert_marked(&table, 0x10c0, 0x1100, 32);
	assert_marked(&table, 0x1100, CODE, NONE);
	assert_int_equal(mark_at(&table, CODE + 0x1000), NONE);
	assert_int_equal(mark_at(&table, (1ULL << 32) + 0x1000), NONE);
	assert_int_equal(mark_at(&table, UINT64_MAX), NONE);
}

static void test_rows_begin_at_advanced_locations(void **state)
{
	static const uint8_t program[] = { 0x44, 0x0e, 16, 0x48, 0x0e, 24, 0x41, 0x0e, 16 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_program(&file, EH, 0x1000, 0x1040, program, sizeof(program));
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1004, 8);
	assert_marked(&table, 0x1004, 0x100c, 16);
	assert_marked(&table, 0x100c, 0x100d, 24);
	assert_marked(&table, 0x100d, 0x1040, 16);
	/* FALLBACK, which is always present, and the three */
	assert_int_equal(table.header->n_rules, 4);
	assert_int_equal(unwind_table_find(&table, 0x1000)->return_address, UNWIND_VALUE_AT_CFA);
	assert_int_equal(unwind_table_find(&table, 0x1000)->return_address_offset, -8);
}

static void test_an_unusable_fde_is_fallback(void **state)
{
	static const uint8_t program[] = { 0x44, 0x3f, 0x44, 0x0e, 16 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_program(&file, EH, 0x1000, 0x1040, program, sizeof(program));
	put_code(&file, EH, 0x1040, 0x1080, 16);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1004, 8);
	assert_marked(&table, 0x1004, 0x1040, FALLBACK);
	assert_marked(&table, 0x1040, 0x1080, 16);
}

/* Rows at, around and far past a page boundary. */
static void test_a_rule_carries_on_over_pages(void **state)
{
	static const uint8_t program[] = { DW_CFA_advance_loc4,
					   0x00,
					   0x00,
					   0x02,
					   0,
					   0x0e,
					   16,
					   DW_CFA_advance_loc2,
					   0xff,
					   0xff,
					   0x0e,
					   24,
					   0x41,
					   0x0e,
					   32 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_program(&file, EH, 0x2fff0, 0x7fff0, program, sizeof(program));
	put_code(&file, EH, 0xb0000, 0xc0000, 40);
	put_code(&file, EH, 0xc0000, 0xd0000, 48);
	table = compile(&file);
	assert_int_equal(table.header->first_page, 2);
	assert_marked(&table, 0x20000, 0x2fff0, NONE);
	assert_marked(&table, 0x2fff0, 0x4fff0, 8);
	assert_marked(&table, 0x4fff0, 0x5ffef, 16);
	assert_marked(&table, 0x5ffef, 0x5fff0, 24);
	assert_marked(&table, 0x5fff0, 0x7fff0, 32);
	assert_marked(&table, 0x7fff0, 0xb0000, NONE);
	assert_marked(&table, 0xb0000, 0xc0000, 40);
	assert_marked(&table, 0xc0000, 0xd0000, 48);
	assert_marked(&table, 0xd0000, 0xf0000, NONE);
}

static void test_a_row_may_begin_with_a_page(void **state)
{
	static const uint8_t program[] = { 0x50, 0x0e, 16 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_program(&file, EH, 0x1fff0, 0x20010, program, sizeof(program));
	table = compile(&file);
	assert_marked(&table, 0x1fff0, 0x20000, 8);
	assert_marked(&table, 0x20000, 0x20010, 16);
	assert_marked(&table, 0x20010, 0x40000, NONE);
}

static void test_offsets_are_those_of_the_file(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0x3000, 0x1000, 0xffffffff81000000 };
	put_code(&file, EH, 0xffffffff81000010, 0xffffffff81000020, 16);
	table = compile(&file);
	assert_marked(&table, 0, 0x3010, NONE);
	assert_marked(&table, 0x3010, 0x3020, 16);
	assert_marked(&table, 0x3020, 0x10000, NONE);
}

/* The segment that is first in memory is last in the file. */
static void test_two_segments_come_in_the_order_of_the_file(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0x20000, 0x1000, 0x400000 };
	file.segments[1] = (struct unwind_segment){ 0x1000, 0x1000, 0x800000 };
	file.n_segments = 2;
	put_code(&file, EH, 0x400000, 0x400100, 16);
	put_code(&file, EH, 0x400200, 0x400300, 24);
	put_code(&file, EH, 0x800000, 0x800100, 32);
	put_code(&file, EH, 0x800f00, 0x801000, 40);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1100, 32);
	assert_marked(&table, 0x1100, 0x1f00, NONE);
	assert_marked(&table, 0x1f00, 0x2000, 40);
	assert_marked(&table, 0x2000, 0x20000, NONE);
	assert_marked(&table, 0x20000, 0x20100, 16);
	assert_marked(&table, 0x20200, 0x20300, 24);
	assert_int_equal(table.header->n_refused, 0);
}

static void test_code_outside_of_segments_is_refused(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0x1000, 0x1000, 0x401000 };
	put_code(&file, EH, 0x400fff, 0x401010, 16); /* begins before the segment */
	put_code(&file, EH, 0x401010, 0x401020, 24);
	put_code(&file, EH, 0x402000, 0x402010, 32); /* starts where the segment ends */
	put_code(&file, DEBUG, 0, 0x10, 40);
	put_code(&file, DEBUG, UINT64_MAX - 0x10, UINT64_MAX, 48);
	table = compile(&file);
	assert_int_equal(table.header->n_refused, 4);
	assert_marked(&table, 0, 0x1010, NONE);
	assert_marked(&table, 0x1010, 0x1020, 24);
	assert_marked(&table, 0x1020, 0x10000, NONE);
}

static void test_code_is_cut_where_its_segment_ends(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0x1000, 0x1000, 0x1000 };
	put_code(&file, EH, 0x1ff0, UINT64_MAX, 16);
	table = compile(&file);
	assert_marked(&table, 0x1ff0, 0x2000, 16);
	assert_marked(&table, 0x2000, 0x10000, NONE);
	assert_int_equal(table.header->n_refused, 0);
}

static void test_contradictory_cfi_is_counted(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x1000, 0x1000, 16);
	put_code(&file, EH, 0x1000, 0x1010, 24);
	put_code(&file, DEBUG, 0x2000, 0x1fff, 32);
	table = compile(&file);
	assert_int_equal(table.header->n_refused, 2);
	assert_marked(&table, 0x1000, 0x1010, 24);
}

/* The later FDE is trusted from its start. */
static void test_the_later_of_overlapping_fdes_holds(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x1000, 0x1100, 16);
	put_code(&file, EH, 0x1080, 0x1180, 24);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1080, 16);
	assert_marked(&table, 0x1080, 0x1180, 24);
	assert_marked(&table, 0x1180, 0x2000, NONE);
}

/* Whether the larger FDE still holds after the nested one is unknown. */
static void test_no_rule_follows_a_nested_fde(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x1000, 0x1200, 16);
	put_code(&file, EH, 0x1080, 0x10c0, 24);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1080, 16);
	assert_marked(&table, 0x1080, 0x10c0, 24);
	assert_marked(&table, 0x10c0, 0x1200, NONE);
}

static void test_the_last_of_duplicate_fdes_holds(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x2000, 0x2100, 16); /* makes them unsorted */
	for (uint8_t mark = 24; mark < 40; mark++)
		put_code(&file, EH, 0x1000, 0x1100, mark);
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1100, 39);
	assert_marked(&table, 0x2000, 0x2100, 16);
}

/* If the beginning of an FDE is covered, its program still takes effect from there. */
static void test_debug_frame_fills_what_eh_frame_leaves(void **state)
{
	static const uint8_t program[] = { 0x50, 0x0e, 72, DW_CFA_advance_loc1,
					   0x40, 0x0e, 80, DW_CFA_advance_loc1,
					   0x60, 0x0e, 88, 0x60,
					   0x0e, 96 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	put_code(&file, EH, 0x1020, 0x1040, 16);
	put_code(&file, EH, 0x1080, 0x10c0, 24);
	put_program(&file, DEBUG, 0x1000, 0x1100, program, sizeof(program));
	put_code(&file, DEBUG, 0x0f00, 0x1000, 104);
	put_code(&file, DEBUG, 0x1100, 0x1110, 112);
	put_code(&file, DEBUG, 0x1084, 0x1090, 120); /* fully covered */
	table = compile(&file);
	assert_marked(&table, 0x0f00, 0x1000, 104);
	assert_marked(&table, 0x1000, 0x1010, 8);
	assert_marked(&table, 0x1010, 0x1020, 72);
	assert_marked(&table, 0x1020, 0x1040, 16);
	assert_marked(&table, 0x1040, 0x1050, 72);
	assert_marked(&table, 0x1050, 0x1080, 80);
	assert_marked(&table, 0x1080, 0x10c0, 24);
	/* 0x1084 ends the larger FDE, as above. */
	assert_marked(&table, 0x10c0, 0x1100, NONE);
	assert_marked(&table, 0x1100, 0x1110, 112);
	assert_marked(&table, 0x1110, 0x2000, NONE);
}

static void test_debug_frame_fills_the_gaps_of_eh_frame(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	for (uint64_t i = 0; i < 10; i++)
		put_code(&file, EH, 0x1000 + i * 0x20, 0x1010 + i * 0x20, 16);
	put_code(&file, DEBUG, 0x1008, 0x1108, 24);
	table = compile(&file);
	for (uint64_t i = 0; i < 10; i++) {
		assert_marked(&table, 0x1000 + i * 0x20, 0x1010 + i * 0x20, 16);
		assert_marked(&table, 0x1010 + i * 0x20, 0x1020 + i * 0x20, i < 8 ? 24 : NONE);
	}
}

/* The FDE of an address: of those that begin at or before it, the last. */
static int mark_of(const uint64_t (*ranges)[2], size_t n, uint64_t place, uint8_t first_mark)
{
	size_t best = n;

	for (size_t i = 0; i < n; i++)
		if (ranges[i][0] <= place && (best == n || ranges[i][0] >= ranges[best][0]))
			best = i;
	return best < n && place < ranges[best][1] ? (int)(first_mark + best) : NONE;
}

static uint32_t random_below(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

/* Random overlapping ranges, compared with a linear search. */
static void test_random_sections_are_merged_correctly(void **state)
{
	enum { ROUNDS = 300, RANGES = 6, PLACES = 64, BASE = UNWIND_PAGE_SIZE - PLACES / 2 };
	uint32_t seed = 1;

	for (int round = 0; round < ROUNDS; round++) {
		_cleanup_files_ struct file file = file_new();
		_cleanup_table_ struct unwind_table table = { 0 };
		uint64_t ranges[2][RANGES][2];

		for (int i = 0; i < 2 * RANGES; i++) {
			uint64_t *range = ranges[i / RANGES][i % RANGES];

			range[0] = BASE + random_below(&seed, PLACES);
			range[1] = range[0] + 1 + random_below(&seed, PLACES / 3);
			put_code(&file, i / RANGES, range[0], range[1], 16 + i);
		}
		table = compile(&file);
		for (uint64_t place = BASE - 1; place < BASE + 2 * PLACES; place++) {
			int mark = mark_of(ranges[EH], RANGES, place, 16);

			if (mark == NONE)
				mark = mark_of(ranges[DEBUG], RANGES, place, 16 + RANGES);
			assert_int_equal(mark_at(&table, place), mark);
		}
	}
}

/* Two segments map the same part of the file: each offset has the first one's rule. */
static void test_a_part_loaded_twice_has_one_rule(void **state)
{
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0] = (struct unwind_segment){ 0x1000, 0x1000, 0x1000 };
	file.segments[1] = (struct unwind_segment){ 0x1000, 0x1000, 0x9000 };
	file.n_segments = 2;
	put_code(&file, EH, 0x1000, 0x1100, 16);
	put_code(&file, EH, 0x9010, 0x9020, 24); /* completely covered already */
	put_code(&file, EH, 0x9080, 0x9180, 32); /* its first half is covered */
	table = compile(&file);
	assert_marked(&table, 0x1000, 0x1100, 16);
	assert_marked(&table, 0x1100, 0x1180, 32);
	assert_marked(&table, 0x1180, 0x2000, NONE);
	assert_int_equal(table.header->n_refused, 1);
}

static void test_a_file_larger_than_a_table_loses_its_end(void **state)
{
	const uint64_t size = (uint64_t)UNWIND_PAGES_MAX * UNWIND_PAGE_SIZE;
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };

	file.segments[0].size = UINT64_MAX;
	put_code(&file, EH, 0x21000, 0x21100, 16);
	put_code(&file, EH, 0x20000 + size - 0x100, 0x20000 + size - 1, 24); /* the last page */
	put_code(&file, EH, 0x20000 + size, 0x20000 + size + 0x10, 32);
	put_code(&file, EH, 4 * size, 5 * size, 40);
	table = compile(&file);
	assert_int_equal(table.header->n_refused, 2);
	assert_int_equal(table.header->n_pages, UNWIND_PAGES_MAX);
	assert_marked(&table, 0x21000, 0x21100, 16);
	assert_marked(&table, 0x21100, 0x20000 + size - 0x100, NONE);
	assert_marked(&table, 0x20000 + size - 0x100, 0x20000 + size - 1, 24);
	assert_marked(&table, 0x20000 + size, 0x20000 + size + 0x10, NONE);
}

/* Rule 0 is FALLBACK, which leaves one less than the limit. */
static void test_rules_beyond_the_limit_are_fallback(void **state)
{
	enum { RULES = UNWIND_RULES_MAX + 1000, FIRST = 1000 };
	_cleanup_files_ struct file file = file_new();
	_cleanup_table_ struct unwind_table table = { 0 };
	_cleanup_free_ uint8_t *bytes = malloc(RULES * 5);
	size_t n = 0;

	for (uint32_t i = 0; i < RULES; i++) { /* one rule per byte of code */
		uint32_t offset = FIRST + i;

		bytes[n++] = DW_CFA_def_cfa_offset;
		bytes[n++] = (offset & 0x7f) | 0x80;
		bytes[n++] = (offset >> 7 & 0x7f) | 0x80;
		bytes[n++] = offset >> 14;
		bytes[n++] = DW_CFA_advance_loc | 1;
	}
	put_program(&file, EH, 0x1000, 0x1000 + RULES, bytes, n);
	put_code(&file, EH, 0x80000, 0x80010, 16);		/* also over the limit, … */
	put_code(&file, EH, 0x80010, 0x80020, 8);		/* (8 is an existing rule) */
	put_program(&file, EH, 0x80020, 0x80030, bytes, n - 1); /* … as opposed to a known rule */
	table = compile(&file);
	assert_int_equal(table.header->n_rules, UNWIND_RULES_MAX);
	for (uint32_t i = 0; i < RULES; i++)
		assert_int_equal(mark_at(&table, 0x1000 + i),
				 i < UNWIND_RULES_MAX - 1 ? (int)(FIRST + i) : FALLBACK);
	assert_int_equal(mark_at(&table, 0x1000 + RULES), NONE);
	assert_marked(&table, 0x80000, 0x80020, FALLBACK);
	assert_marked(&table, 0x80020, 0x80021, FIRST);
	assert_marked(&table, 0x8002f, 0x80030, FIRST + 15);
}

/* A table with several pages and rules, and rows without a rule. */
static struct unwind_table compile_small(void)
{
	static const uint8_t program[] = { 0x44, 0x0e, 16, 0x48, 0x0d, 6, 0x41, 0x0e, 24 };
	_cleanup_files_ struct file file = file_new();

	put_program(&file, EH, 0x1fff8, 0x20040, program, sizeof(program));
	put_code(&file, EH, 0x20080, 0x20090, 40);
	put_code(&file, EH, 0x40000, 0x40010, 48);
	return compile(&file);
}

static void test_a_tables_bytes_can_be_viewed(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	_cleanup_free_ void *bytes = malloc(table.size);
	struct unwind_table view;

	memcpy(bytes, table.header, table.size);
	assert_true(unwind_table_view(bytes, table.size, &view));
	assert_ptr_equal(view.header, bytes);
	assert_int_equal(view.size, table.size);
	for (uint64_t offset = 0x1ff00; offset < 0x41000; offset++)
		assert_int_equal(mark_at(&view, offset), mark_at(&table, offset));
}

static void test_every_truncation_of_a_table_is_refused(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	struct unwind_table view;

	for (size_t size = 0; size < table.size; size++) {
		_cleanup_free_ void *bytes = malloc(size); /* makes reads past the end detectable */

		memcpy(bytes, table.header, size);
		assert_false(unwind_table_view(bytes, size, &view));
	}
}

static void test_a_table_with_bytes_behind_it_is_refused(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	_cleanup_free_ char *bytes = calloc(1, table.size + 64);
	struct unwind_table view;

	memcpy(bytes, table.header, table.size);
	for (size_t i = 1; i <= 64; i++)
		assert_false(unwind_table_view(bytes, table.size + i, &view));
}

/* Reads every rule found, so that ASan detects any outside of the bytes. */
static uint64_t look_up_everywhere(const struct unwind_table *table)
{
	uint64_t sum = 0, first = table->header->first_page * UNWIND_PAGE_SIZE;

	for (uint64_t i = 0; i < 4 * UNWIND_PAGE_SIZE; i += i % 8192 < 160 ? 1 : 223) {
		const struct unwind_rule *rule = unwind_table_find(table, first + i);
		const char *bytes = (const char *)rule;

		if (!rule)
			continue;
		assert_true(bytes >= (const char *)table->header);
		assert_true(bytes + sizeof(*rule) <= (const char *)table->header + table->size);
		sum += rule->cfa + rule->fp_offset;
	}
	for (int shift = 0; shift < 64; shift++)
		sum += mark_at(table, 1ULL << shift) + mark_at(table, -1ULL << shift);
	return sum;
}

static void test_lookups_in_damaged_tables_stay_inside(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	_cleanup_free_ uint8_t *bytes = malloc(table.size);
	size_t n_views = 0;

	memcpy(bytes, table.header, table.size);
	for (size_t i = 0; i < table.size * 8; i++) {
		struct unwind_table view;

		bytes[i / 8] ^= 1 << i % 8;
		if (unwind_table_view(bytes, table.size, &view)) {
			look_up_everywhere(&view);
			n_views++;
		}
		bytes[i / 8] ^= 1 << i % 8;
	}
	assert_true(n_views > 0);
}

/* Counts that make the computed size too large or wrap it around. */
static void test_a_table_of_impossible_numbers_is_refused(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	_cleanup_free_ uint8_t *bytes = malloc(table.size);
	struct unwind_table_header *header = (void *)bytes;
	struct unwind_table view;

	memcpy(bytes, table.header, table.size);
	header->n_pages = UINT32_MAX; /* plus one is 0 */
	assert_false(unwind_table_view(bytes, table.size, &view));
	header->n_pages = UNWIND_PAGES_MAX + 1;
	assert_false(unwind_table_view(bytes, table.size, &view));
	*header = *table.header;
	header->n_rules = UINT32_MAX;
	assert_false(unwind_table_view(bytes, table.size, &view));
	*header = *table.header;
	header->n_rows = UINT32_MAX;
	assert_false(unwind_table_view(bytes, table.size, &view));
	/* With 32-bit arithmetic the size would be unchanged, … */
	*header = *table.header;
	header->n_rows += 1 << 30;
	memcpy(bytes + ((char *)&table.pages[header->n_pages] - (char *)table.header),
	       &header->n_rows, sizeof(header->n_rows));
	assert_false(unwind_table_view(bytes, table.size, &view));
	/* … and here the page count plus one would be 0. */
	*header = (struct unwind_table_header){ .n_pages = UINT32_MAX };
	assert_false(unwind_table_view(bytes, sizeof(*header), &view));
}

static void test_a_table_with_too_many_pages_is_refused(void **state)
{
	const struct unwind_table_header header = { .n_pages = UNWIND_PAGES_MAX + 1 };
	size_t size = sizeof(header) + (header.n_pages + 1) * sizeof(uint32_t);
	_cleanup_free_ void *bytes = calloc(1, size);
	struct unwind_table view;

	memcpy(bytes, &header, sizeof(header));
	assert_false(unwind_table_view(bytes, size, &view));
	((struct unwind_table_header *)bytes)->n_pages--;
	assert_true(unwind_table_view(bytes, size - sizeof(uint32_t), &view));
}

/* The index that means "no rule" must not be a rule's. */
static void test_a_table_with_too_many_rules_is_refused(void **state)
{
	const struct unwind_table_header header = { .n_rules = UNWIND_RULES_MAX + 1 };
	size_t size = sizeof(header) + header.n_rules * sizeof(struct unwind_rule) + 4;
	_cleanup_free_ void *bytes = calloc(1, size);
	struct unwind_table view;

	memcpy(bytes, &header, sizeof(header));
	assert_false(unwind_table_view(bytes, size, &view));
	((struct unwind_table_header *)bytes)->n_rules--;
	assert_true(unwind_table_view(bytes, size - sizeof(struct unwind_rule), &view));
}

static void test_pages_out_of_order_are_refused(void **state)
{
	_cleanup_table_ struct unwind_table table = compile_small();
	uint32_t *pages = (uint32_t *)table.pages, n = table.header->n_pages;
	struct unwind_table view;

	assert_true(n > 2);
	pages[1] += 1000;
	assert_false(unwind_table_view(table.header, table.size, &view));
	pages[1] -= 1000;
	pages[n]++; /* one more than the number of rows */
	assert_false(unwind_table_view(table.header, table.size, &view));
	pages[n] -= 2;
	assert_false(unwind_table_view(table.header, table.size, &view));
	pages[n]++;
	assert_true(unwind_table_view(table.header, table.size, &view));
}

/* Flips every bit of a section, as a hostile file may; each result must compile to a table. */
static void test_every_flipped_bit_of_a_source_gives_a_table(void **state)
{
	static const uint8_t program[] = { 0x44, 0x0e, 16,   DW_CFA_advance_loc2, 0, 1,
					   0x0e, 24,   0x0a, DW_CFA_advance_loc4, 0, 0,
					   1,	 0,    0x0b };
	_cleanup_files_ struct file file = file_new();

	file.segments[1] = (struct unwind_segment){ 0x200000, 0x1000, 0x500000 };
	file.n_segments = 2;
	put_program(&file, EH, 0x1000, 0x30000, program, sizeof(program));
	put_code(&file, EH, 0x500000, 0x501000, 32);
	put_code(&file, DEBUG, 0x0800, 0x50000, 40);
	for (int kind = EH; kind <= DEBUG; kind++)
		for (size_t i = 0; i < file.sections[kind].n * 8; i++) {
			_cleanup_table_ struct unwind_table table = { 0 };
			struct unwind_table view;

			file.sections[kind].bytes[i / 8] ^= 1 << i % 8;
			table = compile(&file);
			assert_true(unwind_table_view(table.header, table.size, &view));
			look_up_everywhere(&table);
			file.sections[kind].bytes[i / 8] ^= 1 << i % 8;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_information_there_are_no_rules),
		cmocka_unit_test(test_gaps_between_descriptions_have_no_rule),
		cmocka_unit_test(test_rows_begin_at_advanced_locations),
		cmocka_unit_test(test_an_unusable_fde_is_fallback),
		cmocka_unit_test(test_a_rule_carries_on_over_pages),
		cmocka_unit_test(test_a_row_may_begin_with_a_page),
		cmocka_unit_test(test_offsets_are_those_of_the_file),
		cmocka_unit_test(test_two_segments_come_in_the_order_of_the_file),
		cmocka_unit_test(test_code_outside_of_segments_is_refused),
		cmocka_unit_test(test_code_is_cut_where_its_segment_ends),
		cmocka_unit_test(test_contradictory_cfi_is_counted),
		cmocka_unit_test(test_the_later_of_overlapping_fdes_holds),
		cmocka_unit_test(test_no_rule_follows_a_nested_fde),
		cmocka_unit_test(test_the_last_of_duplicate_fdes_holds),
		cmocka_unit_test(test_debug_frame_fills_what_eh_frame_leaves),
		cmocka_unit_test(test_debug_frame_fills_the_gaps_of_eh_frame),
		cmocka_unit_test(test_random_sections_are_merged_correctly),
		cmocka_unit_test(test_a_part_loaded_twice_has_one_rule),
		cmocka_unit_test(test_a_file_larger_than_a_table_loses_its_end),
		cmocka_unit_test(test_rules_beyond_the_limit_are_fallback),
		cmocka_unit_test(test_a_tables_bytes_can_be_viewed),
		cmocka_unit_test(test_every_truncation_of_a_table_is_refused),
		cmocka_unit_test(test_a_table_with_bytes_behind_it_is_refused),
		cmocka_unit_test(test_lookups_in_damaged_tables_stay_inside),
		cmocka_unit_test(test_a_table_of_impossible_numbers_is_refused),
		cmocka_unit_test(test_a_table_with_too_many_pages_is_refused),
		cmocka_unit_test(test_a_table_with_too_many_rules_is_refused),
		cmocka_unit_test(test_pages_out_of_order_are_refused),
		cmocka_unit_test(test_every_flipped_bit_of_a_source_gives_a_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
