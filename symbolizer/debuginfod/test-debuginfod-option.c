/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "symbolizer/debuginfod/debuginfod-option.h"

static void test_three_modes_are_parsed(void **state)
{
	enum debuginfod_mode mode;

	assert_int_equal(debuginfod_mode_parse("off", &mode), 0);
	assert_int_equal(mode, DEBUGINFOD_OFF);
	assert_int_equal(debuginfod_mode_parse("cache", &mode), 0);
	assert_int_equal(mode, DEBUGINFOD_CACHE);
	assert_int_equal(debuginfod_mode_parse("on", &mode), 0);
	assert_int_equal(mode, DEBUGINFOD_ON);
}

static void test_other_modes_are_refused(void **state)
{
	static const char *const others[] = { "", "o", "ON", "on ", "offf", "yes", "1" };
	enum debuginfod_mode mode = DEBUGINFOD_CACHE;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(debuginfod_mode_parse(others[i], &mode), -EINVAL);
	assert_int_equal(mode, DEBUGINFOD_CACHE);
}

static void test_the_servers_are_removed_from_the_environment(void **state)
{
	char *urls;

	setenv("DEBUGINFOD_URLS", "http://one/ http://two/", 1);
	urls = debuginfod_take_urls();
	assert_string_equal(urls, "http://one/ http://two/");
	free(urls);
	assert_null(getenv("DEBUGINFOD_URLS"));
	assert_null(debuginfod_take_urls());
}

static void test_empty_servers_count_as_unset(void **state)
{
	static const char *const none[] = { "", " ", "   " };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		setenv("DEBUGINFOD_URLS", none[i], 1);
		assert_null(debuginfod_take_urls());
		assert_null(getenv("DEBUGINFOD_URLS"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_three_modes_are_parsed),
		cmocka_unit_test(test_other_modes_are_refused),
		cmocka_unit_test(test_the_servers_are_removed_from_the_environment),
		cmocka_unit_test(test_empty_servers_count_as_unset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
