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

#include "common/stream/mapping-table.h"

static int add(struct mapping_table *table, uint64_t start, uint64_t end, uint32_t number)
{
	struct mapping mapping = { start, end, number * 0x100000, number, number };

	return mapping_table_add(table, &mapping);
}

/* The whole table as "start-end:number+offset " items. */
static void check(const struct mapping_table *table, const char *expected)
{
	char text[1024] = "";
	size_t used = 0;

	MAPPING_TABLE_EACH(mapping, table)
	used += snprintf(text + used, sizeof(text) - used, "%jx-%jx:%u+%jx ",
			 (uintmax_t)mapping->start, (uintmax_t)mapping->end, mapping->number,
			 (uintmax_t)(mapping->offset - mapping->number * 0x100000));
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

static void test_addresses_are_found_to_the_last_byte(void **state)
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

static void test_both_sides_of_a_replaced_range_are_kept(void **state)
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

static void test_a_removed_range_is_not_found(void **state)
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

static void test_impossible_ranges_are_refused(void **state)
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
	/* Splitting another mapping needs the most room. */
	assert_int_equal(add(&table, 0x1100, 0x1200, 2), -ENOSPC);
	assert_int_equal(table.n, n);
	assert_int_equal(mapping_table_find(&table, 0x1100)->number, 1);
	assert_int_equal(mapping_table_remove(&table, 0x1000, 0x2000), 0);
	assert_int_equal(table.n, n - 1);
	mapping_table_deinit(&table);
}

static void test_a_copy_is_independent(void **state)
{
	struct mapping_table parent = { 0 }, child = { 0 }, empty = { 0 };

	for (uint32_t i = 1; i <= 40; i++)
		add(&parent, i * 0x1000, i * 0x1000 + 0x1000, i);
	add(&child, 0x900000, 0x901000, 99);
	mapping_table_share(&child, &parent);
	assert_int_equal(child.n, 40);
	assert_null(mapping_table_find(&child, 0x900000));
	add(&parent, 0x1000, 0x2000, 50);
	assert_int_equal(mapping_table_find(&child, 0x1000)->number, 1);
	mapping_table_share(&child, &empty);
	assert_null(mapping_table_find(&child, 0x1000));
	mapping_table_deinit(&parent);
	mapping_table_deinit(&child);
}

/* Compares with a table of each page's owner. */
static void test_any_order_agrees_with_a_page_table(void **state)
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

enum { LARGE = 60000 };

static void fill(struct mapping_table *table, uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		assert_int_equal(add(table, i * 0x2000ULL, i * 0x2000ULL + 0x1000, i), 0);
}

static void test_forks_of_a_large_table_cost_what_they_change(void **state)
{
	enum { FORKS = 500 };
	static struct mapping_table forks[FORKS];
	struct mapping_pool pool = { 0 };
	struct mapping_table parent = { .pool = &pool };
	size_t n_bytes;

	fill(&parent, LARGE);
	n_bytes = pool.n_bytes;
	assert_in_range(n_bytes, LARGE * sizeof(struct mapping),
			LARGE * sizeof(struct mapping) * 5 / 4);
	for (size_t i = 0; i < FORKS; i++)
		mapping_table_share(&forks[i], &parent);
	assert_int_equal(pool.n_bytes, n_bytes);
	for (size_t i = 0; i < FORKS; i++)
		assert_int_equal(add(&forks[i], (i + 1) * 0x2000, (i + 1) * 0x2000 + 0x800, 99999),
				 0);
	assert_in_range(pool.n_bytes, n_bytes, n_bytes + FORKS * 32 * 1024);
	for (size_t i = 0; i < FORKS; i++) {
		assert_int_equal(mapping_table_find(&forks[i], (i + 1) * 0x2000)->number, 99999);
		assert_int_equal(mapping_table_find(&parent, (i + 1) * 0x2000)->number, i + 1);
		assert_int_equal(forks[i].n, LARGE + 1);
		mapping_table_deinit(&forks[i]);
	}
	assert_int_equal(pool.n_bytes, n_bytes);
	mapping_table_deinit(&parent);
	assert_int_equal(pool.n_bytes, 0);
}

static void test_shared_chunks_are_counted_in_parts(void **state)
{
	struct mapping_pool pool = { 0 };
	struct mapping_table one = { .pool = &pool }, other = { 0 };

	fill(&one, 1000);
	assert_int_equal(mapping_table_memory(&one), pool.n_bytes);
	mapping_table_share(&other, &one);
	assert_int_equal(mapping_table_memory(&one), pool.n_bytes / 2);
	assert_int_equal(mapping_table_memory(&other), pool.n_bytes / 2);
	mapping_table_deinit(&one);
	assert_int_equal(mapping_table_memory(&one), 0);
	assert_int_equal(mapping_table_memory(&other), pool.n_bytes);
	mapping_table_deinit(&other);
	assert_int_equal(pool.n_bytes, 0);
}

static void test_a_table_that_shrinks_gives_its_memory_back(void **state)
{
	struct mapping_pool pool = { 0 };
	struct mapping_table table = { .pool = &pool };

	fill(&table, LARGE);
	for (uint32_t i = 1; i <= LARGE; i++)
		if (i % 100)
			mapping_table_remove(&table, i * 0x2000ULL, i * 0x2000ULL + 0x1000);
	assert_int_equal(table.n, LARGE / 100);
	assert_in_range(pool.n_bytes, 1, LARGE / 100 * sizeof(struct mapping) * 5 / 2);
	mapping_table_deinit(&table);
	assert_int_equal(pool.n_bytes, 0);
}

static void test_a_mapping_may_cover_many_chunks(void **state)
{
	struct mapping_pool pool = { 0 };
	struct mapping_table table = { .pool = &pool }, before = { 0 };

	fill(&table, LARGE);
	mapping_table_share(&before, &table);
	assert_int_equal(add(&table, 0x2800, LARGE * 0x2000ULL + 0x800, 77), 0);
	check(&table, "2000-2800:1+0 2800-1d4c0800:77+0 1d4c0800-1d4c1000:60000+800 ");
	assert_int_equal(before.n, LARGE);
	mapping_table_deinit(&before);
	assert_in_range(pool.n_bytes, 1, 1024);
	mapping_table_deinit(&table);
}

static bool is_odd(const struct mapping *mapping, void *arg)
{
	++*(size_t *)arg;
	return mapping->number % 2;
}

static void test_shared_chunks_are_visited_once(void **state)
{
	struct mapping_table one = { 0 }, other = { 0 }, empty = { 0 };
	size_t n = 0;

	for (uint32_t i = 1; i <= 1000; i++)
		add(&one, i * 0x2000, i * 0x2000 + 0x1000, 2);
	mapping_table_share(&other, &one);
	assert_false(mapping_table_any(&empty, 1, is_odd, &n));
	assert_false(mapping_table_any(&one, 1, is_odd, &n));
	assert_false(mapping_table_any(&other, 1, is_odd, &n));
	assert_int_equal(n, 1000);
	add(&other, 0x2000, 0x3000, 3);
	assert_true(mapping_table_any(&other, 1, is_odd, &n));
	assert_in_range(n, 1001, 1000 + MAPPING_CHUNK_MAX);
	n = 0;
	assert_false(mapping_table_any(&one, 2, is_odd, &n));
	assert_true(mapping_table_any(&other, 2, is_odd, &n));
	assert_in_range(n, 1001, 1000 + MAPPING_CHUNK_MAX);
	mapping_table_deinit(&one);
	mapping_table_deinit(&other);
}

/* A page-owner model of several tables copied from one another. */
enum { WIDE = 4096, TABLES = 4 };

struct model {
	struct mapping_table table;
	uint32_t owners[WIDE];
};

static void check_model(const struct model *model)
{
	uint64_t end = 0;
	size_t n = 0;

	MAPPING_TABLE_EACH(mapping, &model->table)
	{
		assert_true(mapping->start >= end && mapping->start < mapping->end);
		assert_ptr_equal(mapping_table_next(&model->table, mapping->start), mapping);
		if (n)
			assert_int_equal(mapping_table_previous(&model->table, mapping->start)->end,
					 end);
		else
			assert_null(mapping_table_previous(&model->table, mapping->start));
		end = mapping->end;
		n++;
	}
	assert_int_equal(n, model->table.n);
	for (unsigned int page = 0; page < WIDE; page++) {
		const struct mapping *mapping = mapping_table_find(&model->table, page);

		assert_int_equal(mapping ? mapping->number : 0, model->owners[page]);
	}
}

static void change(struct model *model, uint32_t number)
{
	unsigned int most = rand() % 50 ? 3 : 300;
	unsigned int from = rand() % WIDE, to = from + 1 + rand() % most;
	bool is_removed = rand() % 3 == 0;

	if (to > WIDE)
		to = WIDE;
	if (is_removed)
		assert_int_equal(mapping_table_remove(&model->table, from, to), 0);
	else
		assert_int_equal(add(&model->table, from, to, number), 0);
	for (unsigned int page = from; page < to; page++)
		model->owners[page] = is_removed ? 0 : number;
}

static void test_tables_that_share_never_change_each_other(void **state)
{
	static struct model models[TABLES];
	struct mapping_pool pool = { 0 };

	srand(2);
	for (size_t i = 0; i < TABLES; i++)
		models[i].table.pool = &pool;
	for (uint32_t number = 1; number <= 40000; number++) {
		struct model *model = &models[rand() % TABLES];

		change(model, number);
		if (number % 1000 == 0) {
			struct model *forked = &models[rand() % TABLES];

			mapping_table_share(&forked->table, &model->table);
			memcpy(forked->owners, model->owners, sizeof(model->owners));
			for (size_t i = 0; i < TABLES; i++)
				check_model(&models[i]);
		}
	}
	for (size_t i = 0; i < TABLES; i++)
		mapping_table_deinit(&models[i].table);
	assert_int_equal(pool.n_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mappings_are_kept_by_address),
		cmocka_unit_test(test_addresses_are_found_to_the_last_byte),
		cmocka_unit_test(test_a_new_mapping_replaces_what_it_covers),
		cmocka_unit_test(test_both_sides_of_a_replaced_range_are_kept),
		cmocka_unit_test(test_a_removed_range_is_not_found),
		cmocka_unit_test(test_impossible_ranges_are_refused),
		cmocka_unit_test(test_a_full_table_refuses_and_stays_whole),
		cmocka_unit_test(test_a_copy_is_independent),
		cmocka_unit_test(test_any_order_agrees_with_a_page_table),
		cmocka_unit_test(test_forks_of_a_large_table_cost_what_they_change),
		cmocka_unit_test(test_shared_chunks_are_counted_in_parts),
		cmocka_unit_test(test_shared_chunks_are_visited_once),
		cmocka_unit_test(test_a_table_that_shrinks_gives_its_memory_back),
		cmocka_unit_test(test_a_mapping_may_cover_many_chunks),
		cmocka_unit_test(test_tables_that_share_never_change_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
