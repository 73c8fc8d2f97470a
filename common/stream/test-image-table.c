/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/image-table.h"

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

static void test_an_image_keeps_its_records_fields(void **state)
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

static void test_segments_stay_once_they_are_reported(void **state)
{
	static const uint64_t code[] = { 0x1000, 0x401000, 0x10, 0x2000, UINT64_MAX, 2, 5, 6, 0 };
	static const uint64_t other[] = { 1, 2, 3 };
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, .segments = { code, 9 }, .go_build_id = { "a/b", 3 } };
	struct image *image;

	add(&table, 3, "/a");
	image_table_set_id(&table, &id);
	image = image_table_find(&table, 3);
	assert_int_equal(image->n_segments,
			 1); /* the second is beyond all addresses, the third empty */
	assert_int_equal(table.n_refused, 2);
	assert_int_equal(image->segments[0].address, 0x401000);
	assert_string_equal(image->go_build_id, "a/b");
	id.segments = (struct wire_addrs){ other, 3 };
	image_table_set_id(&table, &id);
	assert_int_equal(image->segments[0].offset, 0x1000);
	image_table_deinit(&table);
}

static void test_an_empty_build_id_counts_as_known(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, { "", 0 } };

	add(&table, 3, "/a");
	image_table_set_id(&table, &id);
	assert_true(image_table_find(&table, 3)->has_id);
	assert_int_equal(image_table_find(&table, 3)->build_id_size, 0);
	image_table_deinit(&table);
}

static void report(struct image_table *table, uint64_t image, const char *high, const char *low)
{
	struct wire_image_id id = { image, { "", 0 } };

	snprintf(id.file_id, sizeof(id.file_id), "%s%s", high, low);
	image_table_set_id(table, &id);
}

static void test_images_are_found_by_their_file_ids(void **state)
{
	struct image_table table = { 0 };
	struct file_id id;

	add(&table, 3, "/a");
	add(&table, 4, "/b");
	report(&table, 3, "026a2d6a60ee6b4e", "b8ec85adf2e76f4d");
	report(&table, 4, "caf6e5907166ac76", "eef618e5f7f59cd9");
	assert_true(file_id_parse("caf6e5907166ac76eef618e5f7f59cd9", &id));
	assert_int_equal(image_table_find_file_id(&table, &id)->number, 4);
	assert_int_equal(image_table_find_short_id(&table, 0xcaf6e5907166ac76)->number, 4);
	assert_int_equal(image_table_find_short_id(&table, 0x026a2d6a60ee6b4e)->number, 3);
	assert_null(image_table_find_short_id(&table, 0xeef618e5f7f59cd9)); /* the second half */
	id.bytes[15]++;
	assert_null(image_table_find_file_id(&table, &id));
	assert_int_equal(table.n_refused + table.n_same_file_id + table.n_same_short_id, 0);
	image_table_deinit(&table);
}

static void test_the_first_of_those_with_the_same_id_is_found(void **state)
{
	struct image_table table = { 0 };
	struct file_id id;

	add(&table, 3, "/a");
	add(&table, 4, "/copy");
	add(&table, 5, "/short/collision");
	report(&table, 4, "0123456789abcdef", "0000000000000001");
	report(&table, 3, "0123456789abcdef", "0000000000000001");
	assert_int_equal(table.n_same_file_id, 1);
	assert_int_equal(table.n_same_short_id, 0);
	report(&table, 5, "0123456789abcdef", "0000000000000002");
	assert_int_equal(table.n_same_file_id, 1);
	assert_int_equal(table.n_same_short_id, 1);
	assert_int_equal(image_table_find_short_id(&table, 0x0123456789abcdef)->number, 4);
	assert_true(file_id_parse("0123456789abcdef0000000000000001", &id));
	assert_int_equal(image_table_find_file_id(&table, &id)->number, 4);
	assert_true(file_id_parse("0123456789abcdef0000000000000002", &id));
	assert_int_equal(image_table_find_file_id(&table, &id)->number, 5);
	assert_true(image_table_find(&table, 3)->has_file_id);
	image_table_deinit(&table);
}

static void test_a_file_id_stays_once_it_is_reported(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, { "\x01\x02", 2 } }, again;

	add(&table, 3, "/a");
	image_table_set_id(&table, &id); /* from a stream before version 1.1 */
	assert_false(image_table_find(&table, 3)->has_file_id);
	image_table_get_id(image_table_find(&table, 3), &again);
	assert_string_equal(again.file_id, "");
	strcpy(id.file_id, "0123456789abcdef0000000000000001");
	image_table_set_id(&table, &id);
	image_table_set_id(&table, &id);
	assert_int_equal(table.n_refused, 0);
	id.file_id[0] = '1'; /* an image has one content */
	image_table_set_id(&table, &id);
	assert_int_equal(table.n_refused, 1);
	id.file_id[0] = 0; /* a stage without the file id does not remove it */
	image_table_set_id(&table, &id);
	assert_int_equal(table.n_refused, 1);
	image_table_get_id(image_table_find(&table, 3), &again);
	assert_int_equal(again.image, 3);
	assert_int_equal(again.build_id.size, 2);
	assert_memory_equal(again.build_id.data, "\x01\x02", 2);
	assert_string_equal(again.file_id, "0123456789abcdef0000000000000001");
	assert_null(image_table_find_short_id(&table, 0x1123456789abcdef));
	image_table_deinit(&table);
}

static void test_invalid_file_ids_are_refused(void **state)
{
	static const char *const others[] = { "0123456789abcdef", "0123456789abcdeg",
					      "0123456789abcdef0", " " };
	struct image_table table = { 0 };

	add(&table, 3, "/a");
	for (size_t i = 0; i < 4; i++) {
		report(&table, 3, others[i], i == 1 ? "0123456789abcdef" : "");
		assert_int_equal(table.n_refused, i + 1);
	}
	assert_false(image_table_find(&table, 3)->has_file_id);
	assert_true(image_table_find(&table, 3)->has_id); /* the build-id is still valid */
	image_table_deinit(&table);
}

static void test_an_oversized_build_id_is_refused(void **state)
{
	static const char bytes[WIRE_BUILD_ID_MAX + 1];
	struct image_table table = { 0 };
	struct wire_image_id id = { 3, { bytes, sizeof(bytes) } };

	add(&table, 3, "/a");
	image_table_set_id(&table, &id);
	assert_false(image_table_find(&table, 3)->has_id);
	image_table_deinit(&table);
}

static void test_impossible_records_are_counted(void **state)
{
	struct image_table table = { 0 };
	struct wire_image_data data = { 3, { "bytes", 5 } };

	add(&table, 3, "/a");
	add(&table, 3, "/b");
	assert_int_equal(table.n_refused, 1);
	assert_string_equal(image_table_find(&table, 3)->path, "/a");
	assert_int_equal(image_table_set_data(&table, &data), 0);
	assert_int_equal(image_table_set_data(&table, &data), 0); /* repeated */
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

static void test_the_callback_precedes_an_images_end(void **state)
{
	int n = 0;
	struct image_table table = { .forget = count, .arg = &n };

	add(&table, 1, "/a");
	add(&table, 2, "/b");
	image_table_deinit(&table);
	assert_int_equal(n, 2);
}

static void end_image(struct image_table *table, uint64_t number)
{
	image_table_exit(table, &(struct wire_image_exit){ number, 0 });
}

static void test_an_ended_image_is_removed(void **state)
{
	int n = 0;
	struct image_table table = { .forget = count, .arg = &n };

	add(&table, 1, "/a");
	end_image(&table, 1);
	assert_int_equal(n, 1);
	assert_null(image_table_find(&table, 1));
	end_image(&table, 1); /* ending an unknown image is ignored */
	add(&table, 1, "/a");
	image_table_deinit(&table);
	assert_int_equal(n, 2);
}

static void test_an_ended_images_ids_pass_to_a_copy(void **state)
{
	struct image_table table = { 0 };
	struct file_id id;

	add(&table, 3, "/a");
	add(&table, 4, "/copy");
	add(&table, 5, "/short/collision");
	report(&table, 3, "0123456789abcdef", "0000000000000001");
	report(&table, 4, "0123456789abcdef", "0000000000000001");
	report(&table, 5, "0123456789abcdef", "0000000000000002");
	assert_true(file_id_parse("0123456789abcdef0000000000000001", &id));
	end_image(&table, 3);
	assert_int_equal(image_table_find_file_id(&table, &id)->number, 4);
	assert_int_equal(image_table_find_short_id(&table, 0x0123456789abcdef)->number, 4);
	end_image(&table, 4);
	assert_null(image_table_find_file_id(&table, &id));
	assert_int_equal(image_table_find_short_id(&table, 0x0123456789abcdef)->number, 5);
	end_image(&table, 5);
	assert_null(image_table_find_short_id(&table, 0x0123456789abcdef));
	image_table_deinit(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_keeps_its_records_fields),
		cmocka_unit_test(test_segments_stay_once_they_are_reported),
		cmocka_unit_test(test_an_empty_build_id_counts_as_known),
		cmocka_unit_test(test_images_are_found_by_their_file_ids),
		cmocka_unit_test(test_the_first_of_those_with_the_same_id_is_found),
		cmocka_unit_test(test_a_file_id_stays_once_it_is_reported),
		cmocka_unit_test(test_invalid_file_ids_are_refused),
		cmocka_unit_test(test_an_oversized_build_id_is_refused),
		cmocka_unit_test(test_impossible_records_are_counted),
		cmocka_unit_test(test_more_images_than_the_limit_are_refused),
		cmocka_unit_test(test_the_name_is_the_paths_last_part),
		cmocka_unit_test(test_the_callback_precedes_an_images_end),
		cmocka_unit_test(test_an_ended_image_is_removed),
		cmocka_unit_test(test_an_ended_images_ids_pass_to_a_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
