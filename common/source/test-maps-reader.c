/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps of processes that may never answer. Linked with --wrap=proc_read_maps and --wrap=task_user:
 * maps of PIDs from HANGS on block until released; a PID's last digit is its user.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/proc/task-user.h"
#include "common/source/maps-reader.h"

enum { HANGS = 500000000, USERS = 10 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool answers;
static size_t n_hanging;

int __wrap_proc_read_maps(uint32_t pid, struct proc_maps *ret);
int __real_proc_read_maps(uint32_t pid, struct proc_maps *ret);
uid_t __wrap_task_user(uint32_t pid);

int __wrap_proc_read_maps(uint32_t pid, struct proc_maps *ret)
{
	pthread_mutex_lock(&mutex);
	n_hanging += pid >= HANGS;
	pthread_cond_broadcast(&changed);
	while (pid >= HANGS && !answers)
		pthread_cond_wait(&changed, &mutex);
	n_hanging -= pid >= HANGS;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return __real_proc_read_maps(getpid(), ret);
}

uid_t __wrap_task_user(uint32_t pid)
{
	return pid % USERS;
}

/* Waits until exactly `n` threads hang. */
static void wait_for_hanging(size_t n)
{
	pthread_mutex_lock(&mutex);
	while (n_hanging != n)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* Waits until `n` threads are left: abandoned ones exit once they have their answer. */
static void wait_for_threads(nlink_t n)
{
	struct stat tasks;

	do {
		sched_yield();
		assert_int_equal(stat("/proc/self/task", &tasks), 0);
	} while (tasks.st_nlink > n + 2); /* . and .. */
}

static void set_answers(bool now)
{
	pthread_mutex_lock(&mutex);
	answers = now;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static int read_one(struct maps_reader **reader, uint32_t pid)
{
	struct proc_maps maps;
	int r = maps_reader_read(reader, pid, MAPS_EXECUTABLE, &maps);

	assert_int_equal(r == 0, maps.n > 0);
	proc_maps_deinit(&maps);
	return r;
}

static void test_maps_are_those_of_the_process(void **state)
{
	struct maps_reader *reader = NULL;
	struct proc_maps maps, all;

	assert_int_equal(maps_reader_read(&reader, getpid(), MAPS_EXECUTABLE, &maps), 0);
	assert_int_equal(maps_reader_read(&reader, getpid(), MAPS_ALL, &all), 0);
	assert_true(maps.n > 0 && all.n > maps.n);
	proc_maps_deinit(&maps);
	assert_int_equal(maps_reader_read(&reader, 1 << 28, MAPS_ALL, &maps), -ENOENT);
	assert_int_equal(maps.n, 0);
	proc_maps_deinit(&all);
	maps_reader_end(reader);
}

/* A slow user occupies few threads, does not delay others, and is served again later. */
static void test_a_hanging_process_times_out_alone(void **state)
{
	enum { USER = 1, OTHER = 2 };
	struct maps_reader *reader = NULL;

	set_answers(false);
	for (size_t i = 0; i < MAPS_READER_STUCK_OF_USER_MAX; i++)
		assert_int_equal(read_one(&reader, HANGS + i * USERS + USER), -ETIMEDOUT);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(read_one(&reader, HANGS + i * USERS + USER), -EBUSY);
	assert_int_equal(read_one(&reader, USER), -EBUSY);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(read_one(&reader, OTHER), 0);
	wait_for_hanging(MAPS_READER_STUCK_OF_USER_MAX);
	set_answers(true);
	wait_for_hanging(0);
	wait_for_threads(2); /* the main thread and the reader */
	assert_int_equal(read_one(&reader, USER), 0);
	assert_int_equal(read_one(&reader, HANGS + USER), 0);
	maps_reader_end(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps_are_those_of_the_process),
		cmocka_unit_test(test_a_hanging_process_times_out_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
