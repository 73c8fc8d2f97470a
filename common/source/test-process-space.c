/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/source/test-events.h"

enum { PAGE = 4096, PIECES_MAX = 1024, LARGE = 60000 };

static bool nothing_waits(uint32_t pid, void *arg)
{
	return false;
}

static int set_up(void **state)
{
	set_up_processes(state);
	processes.proc.is_mapping = nothing_waits;
	return 0;
}

static void map_page(uint32_t pid, uint64_t start, const char *path, uint64_t inode, uint64_t time)
{
	do_mmap(pid, start, PAGE, inode ? 0 : start, path, inode, time);
}

static size_t count_mapped(uint32_t pid)
{
	return processes_mappings(&processes, pid)->n;
}

/* Discards the records written so far. */
static void drain(void)
{
	union wire_view view;

	while (test_stream_next(&stream, &view))
		;
}

static int wait_for_ever(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails before kill(2) */
	for (;;)
		pause();
	return 0;
}

static pid_t start_sharer(void)
{
	static char stacks[4][16 * PAGE] __attribute__((aligned(16)));
	static unsigned int n;
	pid_t pid =
		clone(wait_for_ever, stacks[n++ % 4] + sizeof(stacks[0]), CLONE_VM | SIGCHLD, NULL);

	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_processes_sharing_memory_share_mappings(void **state)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	pid_t one, other;

	assert_int_equal(processes_scan(&processes, getpid(), now), 0);
	now = clock_now(CLOCK_MONOTONIC);
	one = start_sharer();
	do_fork(getpid(), one, now);
	other = start_sharer();
	assert_int_equal(processes_scan(&processes, other, now), 0);
	now = clock_now(CLOCK_MONOTONIC);
	assert_ptr_equal(processes_mappings(&processes, one),
			 processes_mappings(&processes, getpid()));
	assert_ptr_equal(processes_mappings(&processes, other),
			 processes_mappings(&processes, getpid()));
	drain();
	map_page(one, 0x1000, "/bin/a", 5, now + 1);
	test_stream_text(&stream);
	assert_true(has_line("mapping "));
	assert_int_not_equal(processes_find_mapping(&processes, getpid(), 0x1000), 0);
	assert_int_equal(processes_find_mapping(&processes, getpid(), 0x1000),
			 processes_find_mapping(&processes, other, 0x1000));
	/* A mapping of shared memory is emitted once, even if another process maps it again. */
	map_page(other, 0x1000, "/bin/a", 5, now + 2);
	assert_string_equal(test_stream_text(&stream), "");
	/* An exec gives the process its own memory. */
	do_exec(other, "other", now + 3);
	assert_int_equal(processes_find_mapping(&processes, other, 0x1000), 0);
	map_page(other, 0x3000, "/bin/b", 6, now + 4);
	assert_int_equal(processes_find_mapping(&processes, getpid(), 0x3000), 0);
	end(one);
	end(other);
}

static void map_pieces(uint32_t pid, unsigned int n, const char *path, uint64_t inode)
{
	for (unsigned int i = 1; i <= n; i++)
		map_page(pid, i * 2ULL * PAGE, path, inode, 11 + i * 1000000ULL);
}

static void test_forks_with_too_many_mappings_are_dropped(void **state)
{
	uint64_t time = 100 * NANOSECONDS_A_SECOND;

	do_fork(1, PID, 10);
	map_pieces(PID, PIECES_MAX, "//anon", 0);
	do_fork(PID, PID + 1, time);
	assert_int_equal(count_mapped(PID + 1), PIECES_MAX);
	assert_int_equal(processes.over_limit.n, 0);
	map_page(PID, 0x7f0000000000, "//anon", 0, time + 1);
	do_fork(PID, PID + 2, time + 2);
	assert_int_equal(count_mapped(PID + 2), 0);
	assert_int_equal(count_mapped(PID), PIECES_MAX + 1);
	assert_int_equal(processes.over_limit.n, 1);
	assert_int_equal(processes.over_limit.first_pid, PID + 2);
	/* Neither its own later mappings nor those of its children are emitted. */
	map_page(PID + 2, 0x1000, "/bin/a", 5, time + 3);
	do_fork(PID + 2, PID + 3, time + 4);
	map_page(PID + 3, 0x1000, "/bin/a", 5, time + 5);
	assert_int_equal(count_mapped(PID + 2) + count_mapped(PID + 3), 0);
	do_exec(PID + 3, "other", time + 6);
	map_page(PID + 3, 0x1000, "/bin/a", 5, time + 7);
	assert_int_equal(count_mapped(PID + 3), 1);
}

/* All belong to one user, because the owners of these PIDs are unknown. */
static void test_the_largest_process_is_dropped_first(void **state)
{
	uint32_t n = 0;

	do_fork(1, PID, 10);
	map_page(PID, 0x1000, "/bin/a", 5, 11);
	while (!processes.over_limit.n && n < 100) {
		do_fork(1, PID + ++n, 12);
		for (unsigned int i = 1; i <= LARGE && !processes.over_limit.n; i++)
			map_page(PID + n, i * 2ULL * PAGE, "/bin/a", 5,
				 13 + n * 100 * NANOSECONDS_A_SECOND + i * 1000000ULL);
		drain();
	}
	assert_in_range(n, PROCESSES_MAPPINGS_MAX / (LARGE * 60), 99);
	assert_in_range(processes.mappings.n_bytes, 1, PROCESSES_MAPPINGS_KEPT);
	assert_int_equal(count_mapped(PID), 1);
	assert_int_equal(count_mapped(PID + 1), 0);
}

static uid_t user_of(uint32_t pid)
{
	return pid;
}

/* Processes of further users share the last user's account. */
static void test_more_users_than_shares_lose_mappings_too(void **state)
{
	enum { USERS = 300 };
	uint32_t n = 0;

	processes.proc.find_user = user_of;
	do_fork(1, PID, 10);
	while (!processes.over_limit.n && n < USERS + 100) {
		unsigned int n_pages = n < USERS ? 1 : LARGE;

		do_fork(1, PID + ++n, 12);
		for (unsigned int i = 1; i <= n_pages && !processes.over_limit.n; i++)
			map_page(PID + n, i * 2ULL * PAGE, "/bin/a", 5,
				 13 + n * 100 * NANOSECONDS_A_SECOND + i * 1000000ULL);
		drain();
	}
	assert_in_range(processes.mappings.n_bytes, 1, PROCESSES_MAPPINGS_KEPT);
	assert_int_equal(count_mapped(PID + 1), 1);
	assert_int_equal(count_mapped(PID + USERS + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_processes_sharing_memory_share_mappings,
						set_up, tear_down_processes),
		cmocka_unit_test_setup_teardown(test_forks_with_too_many_mappings_are_dropped,
						set_up, tear_down_processes),
		cmocka_unit_test_setup_teardown(test_the_largest_process_is_dropped_first, set_up,
						tear_down_processes),
		cmocka_unit_test_setup_teardown(test_more_users_than_shares_lose_mappings_too,
						set_up, tear_down_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
