/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the programs of switches keep of this process's threads. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "perf-source/bpf/switch-program.h"

enum { WAITS = 200, THRESHOLD_NS = 100000 };

static struct switch_program program;

static uint64_t count_switches(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* On a slow machine a sleep may be over before the thread is switched out. */
static void wait_once(void)
{
	uint64_t n = count_switches();

	while (count_switches() == n)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

struct wanted {
	uint32_t tid;
	bool is_found;
	struct switch_thread thread;
};

static int look(uint32_t tid, const struct switch_thread *thread, void *arg)
{
	struct wanted *wanted = arg;

	if (tid != wanted->tid)
		return 0;
	wanted->is_found = true;
	wanted->thread = *thread;
	return 0;
}

static bool find(uint32_t tid, struct switch_thread *ret)
{
	struct wanted wanted = { .tid = tid };

	assert_true(switch_program_each(&program, look, &wanted) >= 0);
	*ret = wanted.thread;
	return wanted.is_found;
}

/* A wait ends at each switch, by the kernel's account; all time is run or waited. */
static void test_waits_and_runs_add_up(void **state)
{
	struct switch_thread before, after;
	uint64_t n_before, n;

	/* So that this thread is known, as it is now: the end of a wait may be noticed later. */
	do {
		wait_once();
		n_before = count_switches();
		assert_true(find(gettid(), &before));
	} while (count_switches() != n_before || before.state != SWITCH_RUNNING);
	for (int i = 0; i < WAITS; i++)
		wait_once();
	do {
		n = count_switches() - n_before;
		assert_true(find(gettid(), &after));
	} while (count_switches() - n_before != n);
	assert_int_equal(after.state, SWITCH_RUNNING);
	assert_int_equal(after.pid, getpid());
	assert_int_equal(after.born, before.born);
	assert_int_equal(after.sums.n_waits - before.sums.n_waits, n);
	assert_int_equal(after.sums.off_ns + after.sums.on_ns, after.since - after.born);
	assert_true(after.sums.off_ns > before.sums.off_ns);
	assert_true(after.sums.on_ns > before.sums.on_ns);
}

static void *get_tid(void *arg)
{
	*(uint32_t *)arg = gettid();
	return NULL;
}

/* A thread ends some time after it was joined. */
static void test_ended_threads_stay_until_forgotten(void **state)
{
	uint64_t start = clock_now(CLOCK_MONOTONIC);
	struct switch_thread ended;
	pthread_t thread;
	uint32_t tid;

	assert_int_equal(pthread_create(&thread, NULL, get_tid, &tid), 0);
	pthread_join(thread, NULL);
	do
		assert_true(find(tid, &ended));
	while (ended.state != SWITCH_ENDED);
	assert_int_equal(ended.pid, getpid());
	assert_true(ended.born >= start);
	switch_program_forget(&program, tid);
	assert_false(find(tid, &ended));
}

static void test_nothing_changes_once_stopped(void **state)
{
	struct switch_thread before, after;
	uint64_t n_refused, n_contradictions;

	wait_once();
	switch_program_stop(&program);
	assert_true(find(gettid(), &before));
	wait_once();
	assert_true(find(gettid(), &after));
	assert_memory_equal(&before, &after, sizeof(before));
	switch_program_count(&program, &n_refused, &n_contradictions);
	assert_int_equal(n_refused, 0);
}

static int start(void **state)
{
	int r = switch_program_init(&program, &(struct switch_program_settings){ 0 });

	if (r == 0)
		return switch_program_start(&program, clock_now(CLOCK_MONOTONIC), THRESHOLD_NS);
	print_message("the kernel lets us load no program: %s\n", strerror(-r));
	exit(77);
}

static int stop(void **state)
{
	switch_program_stop(&program);
	switch_program_deinit(&program);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waits_and_runs_add_up, start, stop),
		cmocka_unit_test_setup_teardown(test_ended_threads_stay_until_forgotten, start,
						stop),
		cmocka_unit_test_setup_teardown(test_nothing_changes_once_stopped, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
