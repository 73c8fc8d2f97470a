/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/mapping-table.h"

static int add(struct mapping_table *table, uint64_t start, uint64_t end, uint32_t number)
{
	struct mapping mapping = { start, end, number * 0x100000, number, number };

	return mapping_table_add(table, &mapping);
}

/* All of a table as "start-end:number+offset ". */
static void check(const struct mapping_table *table, const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	for (size_t i = 0; i < table->n; i++) {
		const struct mapping *mapping = &table->list[i];

		used += snprintf(text + used, sizeof(text) - used, "%jx-%jx:%u+%jx ",
				 (uintmax_t)mapping->start, (uintmax_t)mapping->end,
				 mapping->number,
				 (uintmax_t)(mapping->offset - mapping->number * 0x100000));
	}
	assert_string_equal(text, expected);
}

static void test_mappings_are_kept_by_address(void **state)
{
	struct mapping_table table = { 0 };

	add(&table, 0x5000, 0x6000, 1);
	add(&table, 0x1000, 0x2000, 2);
	add(&table, 0x3000, 0x5000, 3);
	check(&table, "1000-2000:2+0 3000-5000:3+0 5000-6000:1+0 ");
	mapping_table_deinit(&table);
}

static void test_an_address_is_found_up_to_its_mappings_last_byte(void **state)
{
	struct mapping_table table = { 0 };

	assert_null(mapping_table_find(&table, 0));
	add(&table, 0x1000, 0x2000, 1);
	add(&table, 0x2000, 0x3000, 2);
	add(&table, 0x4000, 0x5000, 3);
	assert_null(mapping_table_find(&table, 0xfff));
	assert_int_equal(mapping_table_find(&table, 0x1000)->number, 1);
	assert_int_equal(mapping_table_find(&table, 0x1fff)->number, 1);
	assert_int_equal(mapping_table_find(&table, 0x2000)->number, 2);
	assert_null(mapping_table_find(&table, 0x3000));
	assert_null(mapping_table_find(&table, 0x3fff));
	assert_int_equal(mapping_table_find(&table, 0x4fff)->number, 3);
	assert_null(mapping_table_find(&table, 0x5000));
	assert_null(mapping_table_find(&table, UINT64_MAX));
	mapping_table_deinit(&table);
}

static void test_a_new_mapping_replaces_what_it_covers(void **state)
{
	struct mapping_table table = { 0 };

	add(&table, 0x1000, 0x2000, 1);
	add(&table, 0x2000, 0x3000, 2);
	add(&table, 0x3000, 0x4000, 3);
	add(&table, 0x1000, 0x4000, 4);
	check(&table, "1000-4000:4+0 ");
	add(&table, 0x1000, 0x4000, 5);
	check(&table, "1000-4000:5+0 ");
	mapping_table_deinit(&table);
}

static void test_what_is_left_on_both_sides_stays(void **state)
{
	struct mapping_table table = { 0 };

	add(&table, 0x1000, 0x9000, 1);
	add(&table, 0x3000, 0x4000, 2);
	check(&table, "1000-3000:1+0 3000-4000:2+0 4000-9000:1+3000 ");
	add(&table, 0x8000, 0xa000, 3);
	check(&table, "1000-3000:1+0 3000-4000:2+0 4000-8000:1+3000 8000-a000:3+0 ");
	add(&table, 0x2000, 0x9000, 4);
	check(&table, "1000-2000:1+0 2000-9000:4+0 9000-a000:3+1000 ");
	add(&table, 0, 0x1001, 5);
	check(&table, "0-1001:5+0 1001-2000:1+1 2000-9000:4+0 9000-a000:3+1000 ");
	mapping_table_deinit(&table);
}

static void test_what_is_removed_is_nowhere(void **state)
{
	struct mapping_table table = { 0 };

	add(&table, 0x1000, 0x9000, 1);
	assert_int_equal(mapping_table_remove(&table, 0x3000, 0x4000), 0);
	check(&table, "1000-3000:1+0 4000-9000:1+3000 ");
	assert_int_equal(mapping_table_remove(&table, 0x3000, 0x4000), 0);
	assert_int_equal(mapping_table_remove(&table, 0x2000, 0x5000), 0);
	check(&table, "1000-2000:1+0 5000-9000:1+4000 ");
	assert_int_equal(mapping_table_remove(&table, 0, UINT64_MAX), 0);
	check(&table, "");
	assert_int_equal(mapping_table_remove(&table, 0x1000, 0x1000), -EINVAL);
	mapping_table_deinit(&table);
}

static void test_the_impossible_is_refused(void **state)
{
	struct mapping_table table = { 0 };

	add(&table, 0x1000, 0x2000, 1);
	assert_int_equal(add(&table, 0x1800, 0x1800, 2), -EINVAL);
	assert_int_equal(add(&table, 0x1800, 0x1000, 2), -EINVAL);
	assert_int_equal(add(&table, UINT64_MAX, 0, 2), -EINVAL);
	check(&table, "1000-2000:1+0 ");
	assert_int_equal(add(&table, UINT64_MAX - 1, UINT64_MAX, 3), 0);
	assert_int_equal(mapping_table_find(&table, UINT64_MAX - 1)->number, 3);
	mapping_table_deinit(&table);
}

static void test_a_full_table_refuses_and_stays_whole(void **state)
{
	struct mapping_table table = { 0 };
	uint64_t at = 0x1000;
	size_t n;
	int r;

	while ((r = add(&table, at, at + 0x1000, 1)) == 0)
		at += 0x2000;
	assert_int_equal(r, -ENOSPC);
	n = table.n;
	assert_in_range(n, MAPPING_TABLE_MAX - 2, MAPPING_TABLE_MAX);
	/* One that would cut another in two needs most room. */
	assert_int_equal(add(&table, 0x1100, 0x1200, 2), -ENOSPC);
	assert_int_equal(table.n, n);
	assert_int_equal(mapping_table_find(&table, 0x1100)->number, 1);
	assert_int_equal(mapping_table_remove(&table, 0x1000, 0x2000), 0);
	assert_int_equal(table.n, n - 1);
	mapping_table_deinit(&table);
}

static void test_a_copy_stands_by_itself(void **state)
{
	struct mapping_table parent = { 0 }, child = { 0 }, empty = { 0 };

	for (uint32_t i = 1; i <= 40; i++)
		add(&parent, i * 0x1000, i * 0x1000 + 0x1000, i);
	add(&child, 0x900000, 0x901000, 99);
	assert_int_equal(mapping_table_copy(&child, &parent), 0);
	assert_int_equal(child.n, 40);
	assert_null(mapping_table_find(&child, 0x900000));
	add(&parent, 0x1000, 0x2000, 50);
	assert_int_equal(mapping_table_find(&child, 0x1000)->number, 1);
	assert_int_equal(mapping_table_copy(&child, &empty), 0);
	assert_null(mapping_table_find(&child, 0x1000));
	mapping_table_deinit(&parent);
	mapping_table_deinit(&child);
}

/* Against a table that knows each page's owner. */
static void test_any_order_gives_what_a_page_by_page_table_gives(void **state)
{
	enum { PAGES = 64 };
	struct mapping_table table = { 0 };
	uint32_t owners[PAGES] = { 0 };
	uint64_t offsets[PAGES];

	srand(1);
	for (uint32_t number = 1; number <= 2000; number++) {
		unsigned int from = rand() % PAGES, to = from + 1 + rand() % (PAGES - from);

		assert_int_equal(add(&table, from, to, number), 0);
		for (unsigned int page = from; page < to; page++) {
			owners[page] = number;
			offsets[page] = number * 0x100000 + page - from;
		}
		for (unsigned int page = 0; page < PAGES; page++) {
			const struct mapping *mapping = mapping_table_find(&table, page);

			assert_int_equal(mapping ? mapping->number : 0, owners[page]);
			if (mapping)
				assert_int_equal(mapping->offset + page - mapping->start,
						 offsets[page]);
		}
	}
	mapping_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings_are_kept_by_address),
		cmocka_unit_test(test_an_address_is_found_up_to_its_mappings_last_byte),
		cmocka_unit_test(test_a_new_mapping_replaces_what_it_covers),
		cmocka_unit_test(test_what_is_left_on_both_sides_stays),
		cmocka_unit_test(test_what_is_removed_is_nowhere),
		cmocka_unit_test(test_the_impossible_is_refused),
		cmocka_unit_test(test_a_full_table_refuses_and_stays_whole),
		cmocka_unit_test(test_a_copy_stands_by_itself),
		cmocka_unit_test(test_any_order_gives_what_a_page_by_page_table_gives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
