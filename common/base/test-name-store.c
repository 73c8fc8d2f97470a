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

#include "common/base/name-store.h"

static uint32_t add(struct name_store *store, const char *name, size_t size)
{
	uint32_t number;

	assert_int_equal(name_store_add(store, name, size, &number), 0);
	return number;
}

static void test_names_keep_their_address(void **state)
{
	struct name_store store = { 0 };
	uint32_t numbers[1000];
	char name[16];

	for (int i = 0; i < 1000; i++)
		numbers[i] = add(&store, name, sprintf(name, "name %d", i));
	for (int i = 0; i < 1000; i++) {
		sprintf(name, "name %d", i);
		assert_string_equal(name_store_get(&store, numbers[i]), name);
	}
	name_store_deinit(&store);
}

static void test_a_zero_byte_does_not_end_a_name(void **state)
{
	struct name_store store = { 0 };

	assert_string_equal(name_store_get(&store, add(&store, "\0a\0\0b\0", 6)), "?a??b?");
	assert_string_equal(name_store_get(&store, add(&store, "", 0)), "");
	name_store_deinit(&store);
}

static void test_more_than_the_limit_is_refused(void **state)
{
	static char name[1 << 20];
	struct name_store store = { 0 };
	uint32_t number;

	memset(name, 'x', sizeof(name));
	for (int i = 0; i < (NAME_STORE_MAX >> 20) - 1; i++)
		add(&store, name, sizeof(name));
	assert_int_equal(name_store_add(&store, name, sizeof(name), &number), -ENOSPC);
	add(&store, name, NAME_STORE_MAX - store.size - 1); /* fits exactly */
	assert_int_equal(store.size, NAME_STORE_MAX);
	assert_int_equal(name_store_add(&store, name, 0, &number), -ENOSPC);
	assert_int_equal(name_store_add(&store, name, SIZE_MAX, &number), -ENOSPC);
	name_store_deinit(&store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_keep_their_address),
		cmocka_unit_test(test_a_zero_byte_does_not_end_a_name),
		cmocka_unit_test(test_more_than_the_limit_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
