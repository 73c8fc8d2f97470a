/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that is added leaves the first list of all processes whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/stage/test-stream.h"
#include "perf-source/context/context-search.h"

static size_t n_looked_at;

/* Counts the processes whose maps are searched. */
static bool is_wanted(uint32_t pid, void *arg)
{
	n_looked_at++;
	return false;
}

static int never_found(uint32_t pid, const struct context_hints *hints, void *arg)
{
	return -1;
}

static void test_all_processes_are_listed(void **state)
{
	struct test_stream stream;
	struct images images;
	struct processes processes;
	struct context_search search = { .processes = &processes,
					 .is_wanted = is_wanted,
					 .is_once = true };
	uint32_t pid = getpid();

	test_stream_init(&stream);
	images_init(&images, &stream.stage, -1);
	processes_init(&processes, &stream.stage, &images);
	assert_int_equal(processes_scan(&processes, pid, 1), 0);
	assert_int_equal(processes_scan(&processes, getppid(), 1), 0);
	assert_int_equal(context_search_add(&search, pid), 0); /* before it has begun */
	assert_int_equal(context_search_go_on(&search, never_found, NULL), 0);
	assert_int_equal(n_looked_at, 2);
	assert_false(context_search_is_first(&search));
	assert_int_equal(context_search_add(&search, pid), 0);
	search.look_at = 0;
	assert_int_equal(context_search_go_on(&search, never_found, NULL), 0);
	assert_int_equal(n_looked_at, 3);
	context_search_deinit(&search);
	processes_deinit(&processes);
	images_deinit(&images);
	test_stream_deinit(&stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_processes_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
