/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/protobuf-view.h"

static void test_each_type_is_read(void **state)
{
	static const uint8_t bytes[] = {
		0x08, 0x96, 0x01,				   /* 1: 150 */
		0x12, 3,    'a',  'b',	'c',			   /* 2: "abc" */
		0x19, 1,    2,	  0,	0,    0,    0,	  0,	0, /* 3: 513 */
		0x25, 7,    0,	  0,	0,			   /* 4: 7 */
		0xa8, 0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01
	}; /* 21: -1 */
	struct protobuf_view message = protobuf_view(bytes, sizeof(bytes));
	struct protobuf_field field;

	assert_true(protobuf_next(&message, &field));
	assert_int_equal(field.number, 1);
	assert_int_equal(field.value, 150);
	assert_false(field.has_bytes);
	assert_true(protobuf_next(&message, &field));
	assert_int_equal(field.number, 2);
	assert_true(field.has_bytes);
	assert_int_equal(field.bytes.size, 3);
	assert_memory_equal(field.bytes.data, "abc", 3);
	assert_true(protobuf_next(&message, &field));
	assert_int_equal(field.value, 513);
	assert_true(protobuf_next(&message, &field));
	assert_int_equal(field.value, 7);
	assert_true(protobuf_next(&message, &field));
	assert_int_equal(field.number, 21);
	assert_int_equal((int64_t)field.value, -1);
	assert_false(protobuf_next(&message, &field));
	assert_false(message.is_damaged);
}

/* In memory of its size, so that a sanitizer sees each byte too many. */
static bool is_damaged(const void *bytes, size_t size)
{
	uint8_t *copy = malloc(size);
	struct protobuf_view message;
	struct protobuf_field field;

	memcpy(copy, bytes, size);
	message = protobuf_view(copy, size);
	while (protobuf_next(&message, &field))
		;
	free(copy);
	return message.is_damaged;
}

static void test_what_is_no_field_is_damage(void **state)
{
	assert_true(is_damaged("\x08", 1));	/* no number */
	assert_true(is_damaged("\x08\x80", 2)); /* that does not end */
	assert_true(is_damaged("\x12\x05"
			       "abc",
			       5)); /* longer than the message */
	assert_true(is_damaged("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11));
	assert_true(is_damaged("\x19\x01\x02", 3)); /* too short for 8 bytes */
	assert_true(is_damaged("\x0b", 1));	    /* a group */
	assert_true(is_damaged("\x02\x00", 2));	    /* field 0 */
	assert_false(is_damaged("\x12\x00", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_type_is_read),
		cmocka_unit_test(test_what_is_no_field_is_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
