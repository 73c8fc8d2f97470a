/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Examples from protobuf's documentation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "formats/protobuf.h"

static struct protobuf message;

static int tear_down(void **state)
{
	protobuf_deinit(&message);
	return 0;
}

static void check(const void *expected, size_t size)
{
	assert_false(message.has_failed);
	assert_int_equal(message.size, size);
	assert_memory_equal(message.data, expected, size);
}

static void test_numbers(void **state)
{
	protobuf_put_uint(&message, 1, 150);
	check("\x08\x96\x01", 3);
	protobuf_reset(&message);
	protobuf_put_uint(&message, 16, UINT64_MAX);
	check("\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12);
	protobuf_reset(&message);
	protobuf_put_fixed64(&message, 1, 0x0102030405060708);
	check("\x09\x08\x07\x06\x05\x04\x03\x02\x01", 9);
}

static void test_default_values_are_skipped(void **state)
{
	protobuf_put_uint(&message, 1, 0);
	protobuf_put_fixed64(&message, 2, 0);
	protobuf_put_text(&message, 3, "");
	check("", 0);
}

static void test_an_empty_element_counts(void **state)
{
	const struct protobuf empty = { 0 };

	protobuf_put_element(&message, 6, NULL, 0);
	protobuf_put_message(&message, 7, &empty);
	check("\x32\x00\x3a\x00", 4);
}

static void test_messages_in_messages(void **state)
{
	struct protobuf inner = { 0 };

	protobuf_put_text(&inner, 2, "testing");
	protobuf_put_message(&message, 3, &inner);
	check("\x1a\x09\x12\x07testing", 11);
	protobuf_append(&message, &inner);
	check("\x1a\x09\x12\x07testing\x12\x07testing", 20);
	protobuf_deinit(&inner);
}

static void test_packed_lists(void **state)
{
	struct protobuf list = { 0 };

	protobuf_add_uint(&list, 3);
	protobuf_add_uint(&list, 270);
	protobuf_add_uint(&list, 86942);
	protobuf_put_bytes(&message, 6, list.data, list.size);
	check("\x32\x06\x03\x8e\x02\x9e\xa7\x05", 8);
	protobuf_deinit(&list);
}

static void test_messages_grow(void **state)
{
	for (uint64_t i = 0; i < 100000; i++)
		protobuf_add_uint(&message, i);
	assert_false(message.has_failed);
	assert_int_equal(message.size, 128 + 2 * (16384 - 128) + 3 * (100000 - 16384));
}

#define TEST(function) cmocka_unit_test_teardown(function, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_numbers),
		TEST(test_default_values_are_skipped),
		TEST(test_an_empty_element_counts),
		TEST(test_messages_in_messages),
		TEST(test_packed_lists),
		TEST(test_messages_grow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
