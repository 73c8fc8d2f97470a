/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The set of followed processes, as the kernel keeps it. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "perf-source/bpf/follow-program.h"
#include "perf-source/bpf/follow.skel.h"

enum {
	CHILDREN = 4,
	GRACE_PERIODS = 100,
};

static struct follow_program program;

static bool has(uint32_t pid)
{
	uint64_t value;

	return !bpf_map__lookup_elem(program.skeleton->maps.followed, &pid, sizeof(pid), &value,
				     sizeof(value), 0);
}

/* Starts a child that waits for the end of the returned pipe's input. */
static pid_t start_child(int *ret_end)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1));
	}
	close(ends[0]);
	*ret_end = ends[1];
	return pid;
}

/*
 * Whether an ended process has been removed: when its task is freed, one of the next times that all
 * CPUs have left what they read.
 */
static bool end_child(pid_t pid, int end)
{
	int i;

	close(end);
	waitpid(pid, NULL, 0);
	for (i = 0; i < GRACE_PERIODS && has(pid); i++)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return i < GRACE_PERIODS;
}

/* The kernel may miss an end, as where it waits too long for a lock; the set bears that. */
static void test_children_of_followed_processes_are_followed(void **state)
{
	bool removed = false;
	pid_t child;
	int end;

	child = start_child(&end);
	assert_false(has(child));
	end_child(child, end);
	assert_int_equal(follow_program_add(&program, getpid()), 0);
	for (int i = 0; i < CHILDREN && !removed; i++) {
		child = start_child(&end);
		assert_true(has(child));
		removed = end_child(child, end);
	}
	assert_true(removed);
	assert_true(has(getpid()));
}

/* Makes the kernel begin its search for the next PID at this one. */
static void choose_pid(pid_t pid)
{
	FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "we");

	assert_non_null(file);
	fprintf(file, "%d", pid - 1);
	assert_int_equal(fclose(file), 0);
}

/*
 * The set has the PID of a process whose end was missed. If others take the chosen PID first, it is
 * not followed either, and another one is tried.
 */
static void test_a_reused_pid_is_not_followed(void **state)
{
	pid_t ended, child;
	int end;

	do {
		ended = start_child(&end);
		end_child(ended, end);
		assert_int_equal(follow_program_add(&program, ended), 0);
		choose_pid(ended);
		child = start_child(&end);
		assert_false(child == ended && has(ended));
		end_child(child, end);
	} while (child != ended);
}

static void *get_tid(void *arg)
{
	*(pid_t *)arg = gettid();
	return NULL;
}

static void test_threads_are_not_processes(void **state)
{
	pthread_t thread;
	pid_t tid;

	assert_int_equal(follow_program_add(&program, getpid()), 0);
	assert_int_equal(pthread_create(&thread, NULL, get_tid, &tid), 0);
	pthread_join(thread, NULL);
	assert_false(has(tid));
	assert_true(has(getpid()));
	assert_int_equal(follow_program_count_refused(&program), 0);
}

static int load(void **state)
{
	int r = follow_program_init(&program);

	if (r == 0)
		return 0;
	print_message("the kernel lets us load no program: %s\n", strerror(-r));
	exit(77);
}

static int unload(void **state)
{
	follow_program_deinit(&program);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_children_of_followed_processes_are_followed,
						load, unload),
		cmocka_unit_test_setup_teardown(test_a_reused_pid_is_not_followed, load, unload),
		cmocka_unit_test_setup_teardown(test_threads_are_not_processes, load, unload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
