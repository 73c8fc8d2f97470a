/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cache directory equals elfutils' for every environment. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolizer/debuginfod/debuginfod-cache.h"

static char home[] = "/tmp/stackpipe-test-XXXXXX";

static int set_up(void **state)
{
	strcpy(home + sizeof(home) - 7, "XXXXXX");
	if (!mkdtemp(home))
		return -1;
	unsetenv("DEBUGINFOD_CACHE_PATH");
	unsetenv("XDG_CACHE_HOME");
	return setenv("HOME", home, 1);
}

/* Finding the cache must not create anything, so the directory is empty. */
static int tear_down(void **state)
{
	return rmdir(home);
}

static void make_old_cache(char path[64])
{
	snprintf(path, 64, "%s/.debuginfod_client_cache", home);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void check(const char *dir, const char *name)
{
	char *path = debuginfod_cache_path(), expected[128];

	snprintf(expected, sizeof(expected), "%s%s", dir, name);
	assert_non_null(path);
	assert_string_equal(path, expected);
	free(path);
}

static void test_the_cache_is_in_the_home_directory(void **state)
{
	check(home, "/.cache/debuginfod_client");
}

static void test_it_is_in_xdg_cache_home(void **state)
{
	setenv("XDG_CACHE_HOME", "/somewhere", 1);
	check("/somewhere", "/debuginfod_client");
}

/* The old directory takes precedence, because programs before 0.180 use only that. */
static void test_an_old_cache_is_still_used(void **state)
{
	char old[64];

	make_old_cache(old);
	check(old, "");
	setenv("XDG_CACHE_HOME", "/somewhere", 1);
	check(old, "");
	rmdir(old);
	check("/somewhere", "/debuginfod_client");
}

static void test_a_given_path_comes_before_all(void **state)
{
	char old[64];

	make_old_cache(old);
	setenv("XDG_CACHE_HOME", "/somewhere", 1);
	setenv("DEBUGINFOD_CACHE_PATH", "/given", 1);
	check("/given", "");
	rmdir(old);
}

static void test_an_empty_variable_is_unset(void **state)
{
	setenv("XDG_CACHE_HOME", "", 1);
	setenv("DEBUGINFOD_CACHE_PATH", "", 1);
	check(home, "/.cache/debuginfod_client");
}

/* A service may have no HOME; the cache is then below the root directory. */
static void test_home_may_be_unset(void **state)
{
	unsetenv("HOME");
	check("/", "/.cache/debuginfod_client");
}

static void test_a_file_has_its_build_id_for_a_name(void **state)
{
	static const uint8_t build_id[] = { 0x00, 0x2f, 0xab, 0xff };
	uint8_t longest[64];
	char *path = debuginfod_cache_file("/cache", build_id, sizeof(build_id));

	assert_string_equal(path, "/cache/002fabff/debuginfo");
	free(path);
	memset(longest, 0x5a, sizeof(longest));
	path = debuginfod_cache_file("/cache", longest, sizeof(longest));
	assert_int_equal(strlen(path), strlen("/cache/") + 2 * 64 + strlen("/debuginfo"));
	free(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_the_cache_is_in_the_home_directory, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_it_is_in_xdg_cache_home, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_an_old_cache_is_still_used, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_given_path_comes_before_all, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_an_empty_variable_is_unset, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_home_may_be_unset, set_up, tear_down),
		cmocka_unit_test(test_a_file_has_its_build_id_for_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
