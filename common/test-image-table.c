/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/image-table.h"

static void add(struct image_table *table, uint64_t number, const char *path)
{
	struct wire_image record = {
		.image = number,
		.kind = WIRE_image_kind_FILE,
		.inode = 77,
		.path = wire_string(path, 4096),
	};

	assert_int_equal(image_table_add(table, &record), 0);
}

static void test_an_image_keeps_what_its_records_say(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_state found = { 3, WIRE_image_status_OPEN, 1234, 5678 };
	struct wire_image_data data = { 3, { "bytes", 5 } };
	struct wire_image_id id = { 3, { "\x01\x02", 2 } };
	struct image *image;

	add(&table, 3, "/usr/lib/libc.so.6");
	image = image_table_find(&table, 3);
	assert_string_equal(image->path, "/usr/lib/libc.so.6");
	assert_int_equal(image->inode, 77);
	assert_false(image->has_id);
	image_table_set_state(&table, &found);
	assert_int_equal(image->state.size, 1234);
	assert_int_equal(image_table_set_data(&table, &data), 0);
	assert_int_equal(image->n_bytes, 5);
	assert_memory_equal(image->bytes, "bytes", 5);
	image_table_set_id(&table, &id);
	assert_true(image->has_id);
	assert_int_equal(image->build_id_size, 2);
	assert_memory_equal(image->build_id, "\x01\x02", 2);
	image_table_deinit(&table);
}

static void test_an_empty_build_id_is_an_answer_too(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, { "", 0 } };

	add(&table, 3, "/a");
	image_table_set_id(&table, &id);
	assert_true(image_table_find(&table, 3)->has_id);
	assert_int_equal(image_table_find(&table, 3)->build_id_size, 0);
	image_table_deinit(&table);
}

static void test_a_build_id_over_the_limit_is_not_taken(void **state)
{
	static const char bytes[WIRE_BUILD_ID_MAX + 1];
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, { bytes, sizeof(bytes) } };

	add(&table, 3, "/a");
	image_table_set_id(&table, &id);
	assert_false(image_table_find(&table, 3)->has_id);
	image_table_deinit(&table);
}

static void test_what_is_impossible_is_counted(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_data data = { 3, { "bytes", 5 } };

	add(&table, 3, "/a");
	add(&table, 3, "/b");
	assert_int_equal(table.n_refused, 1);
	assert_string_equal(image_table_find(&table, 3)->path, "/a");
	assert_int_equal(image_table_set_data(&table, &data), 0);
	assert_int_equal(image_table_set_data(&table, &data), 0); /* a second time */
	assert_int_equal(table.n_refused, 2);
	data.image = 4;
	assert_int_equal(image_table_set_data(&table, &data), 0);
	assert_int_equal(table.n_refused, 3);
	image_table_set_state(&table, &(struct wire_image_state){ 4, 1, 1, 1 });
	image_table_set_id(&table, &(struct wire_image_id){ 4, { "", 0 } });
	image_table_deinit(&table);
}

static void test_more_images_than_the_limit_are_refused(void **state)
{
	struct image_table table = { 0 };

	for (uint64_t i = 0; i < IMAGE_TABLE_MAX + 2; i++)
		add(&table, i, "");
	assert_int_equal(table.n_refused, 2);
	assert_null(image_table_find(&table, IMAGE_TABLE_MAX));
	assert_non_null(image_table_find(&table, IMAGE_TABLE_MAX - 1));
	image_table_deinit(&table);
}

static void test_the_name_is_the_paths_last_part(void **state)
{
	struct image_table table = { 0 };

	add(&table, 1, "/usr/lib/libc.so.6");
	add(&table, 2, "[vdso]");
	add(&table, 3, "");
	assert_string_equal(image_name(image_table_find(&table, 1)), "libc.so.6");
	assert_string_equal(image_name(image_table_find(&table, 2)), "[vdso]");
	assert_string_equal(image_name(image_table_find(&table, 3)), "");
	image_table_deinit(&table);
}

static void count(struct image *image, void *arg)
{
	++*(int *)arg;
}

static void test_a_stage_is_told_before_an_image_goes(void **state)
{
	int n = 0;
	struct image_table table = { .forget = count, .arg = &n };

	add(&table, 1, "/a");
	add(&table, 2, "/b");
	image_table_deinit(&table);
	assert_int_equal(n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_keeps_what_its_records_say),
		cmocka_unit_test(test_an_empty_build_id_is_an_answer_too),
		cmocka_unit_test(test_a_build_id_over_the_limit_is_not_taken),
		cmocka_unit_test(test_what_is_impossible_is_counted),
		cmocka_unit_test(test_more_images_than_the_limit_are_refused),
		cmocka_unit_test(test_the_name_is_the_paths_last_part),
		cmocka_unit_test(test_a_stage_is_told_before_an_image_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
