/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of mappings when records are lost or too many. Events are hand-made; where /proc
 * matters, the process is this one or a child.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/source/processes-internal.h"
#include "common/source/test-events.h"

enum {
	OF_PROCESS = 100000, /* budget of records at one time (process-budget.c) */
	OF_USER = 200000,
	NOBODY = 65534,
};

static int n_asked;

static int set_up(void **state)
{
	set_up_processes(state);
	processes.uid_cost = PROCESSES_UID_COST_NS;
	n_asked = 0;
	return 0;
}

static void map_library(uint32_t pid, uint64_t start, uint64_t inode, uint64_t time)
{
	do_mmap(pid, start, 0x1000, 0, inode % 2 ? "/lib/left" : "/lib/right", inode, time);
}

/* A mapping event of this process's own text. */
static void do_mmap_our_text(uint32_t pid, const struct mapping *text, uint64_t time)
{
	char path[PATH_MAX] = "";
	struct perf_record_mmap2 *mmap2;
	struct stat status;

	assert_true(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	assert_int_equal(stat(path, &status), 0);
	mmap2 = make_mmap(pid, text->start, text->end - text->start, path, status.st_ino);
	mmap2->offset = text->offset;
	mmap2->major = major(status.st_dev);
	mmap2->minor = minor(status.st_dev);
	assert_int_equal(processes_mmap(&processes, mmap2, time), 0);
}

static void sample(uint32_t pid, uint64_t address, uint64_t time)
{
	uint64_t upid;

	assert_int_equal(processes_of_sample(&processes, pid, address, time, &upid), 0);
}

static uint64_t our_code(void)
{
	return (uintptr_t)our_code;
}

static uint64_t now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

static bool is_unsure(uint32_t pid, uint64_t time)
{
	return processes_is_unsure(&processes, pid, time);
}

static uint64_t count(const char *group)
{
	return test_stream_sum(&stream, group);
}

/* A child that waits to be killed, owned by another user if run as root. */
static pid_t start_child(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails before kill(2) */
		prctl(PR_SET_DUMPABLE, 0);	  /* makes its /proc files root's */
		if (write(ends[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_without_a_loss_all_maps_are_sure(void **state)
{
	do_fork(1, PID, 10);
	map_library(PID, 0x1000, 1, 11);
	assert_false(is_unsure(PID, 12));
	sample(PID, 0x1000, 13);
	assert_int_equal(processes.n_rereads, 0);
}

static void test_processes_older_than_a_loss_are_unsure(void **state)
{
	do_fork(1, PID, 10);
	processes_lose(&processes, UINT64_MAX);
	assert_true(is_unsure(PID, 11));
	processes_lose(&processes, 20);
	assert_true(is_unsure(PID, 21));
	assert_true(is_unsure(PID, 1000000000)); /* its maps cannot be read */
}

static void test_an_exec_after_a_loss_is_sure(void **state)
{
	do_fork(1, PID, 10);
	processes_lose(&processes, UINT64_MAX);
	do_exec(PID, "program", 15);
	assert_true(is_unsure(PID, 15)); /* the loss continues */
	processes_lose(&processes, 20);
	assert_true(is_unsure(PID, 21));
	do_exec(PID, "program", 22);
	assert_false(is_unsure(PID, 22));
	do_fork(PID, PID + 1, 23);
	assert_false(is_unsure(PID + 1, 23));
	processes_lose(&processes, 30);
	assert_true(is_unsure(PID, 31));
	assert_true(is_unsure(PID + 1, 31));
}

static void test_a_child_is_as_unsure_as_its_parent(void **state)
{
	do_fork(1, PID, 10);
	processes_lose(&processes, 20);
	do_fork(PID, PID + 1, 21);
	assert_true(is_unsure(PID + 1, 22));
}

/* /proc shows the present; the stream is still at an earlier time. */
static void test_maps_read_again_are_valid_from_then_on(void **state)
{
	uint64_t before, lost;

	do_fork(1, getpid(), 10);
	map_library(getpid(), 0x1000, 1, 12);
	lost = now();
	processes_lose(&processes, UINT64_MAX);
	sample(getpid(), 0x1000, 13);
	assert_int_equal(processes.n_rereads, 0); /* the loss continues */
	assert_true(is_unsure(getpid(), 13));
	processes_lose(&processes, lost);
	before = now();
	sample(getpid(), 0x1000, 16);
	assert_int_equal(processes.n_rereads, 1);
	assert_true(is_unsure(getpid(), 16));
	assert_true(is_unsure(getpid(), before));
	assert_false(is_unsure(getpid(), now()));
	assert_int_not_equal(processes_find_mapping(&processes, getpid(), our_code()), 0);
	sample(getpid(), our_code(), 17); /* not read again yet */
	assert_int_equal(processes.n_rereads, 1);
}

/* The record seen and the lost one that replaced it are both older than the maps read. */
static void test_older_records_do_not_undo_what_was_read(void **state)
{
	uint64_t page = our_code() & ~0xfffULL, lost;
	uint32_t number;

	do_fork(1, getpid(), 10);
	do_exec(getpid(), "program", 11);
	lost = now();
	processes_lose(&processes, lost);
	sample(getpid(), our_code(), lost);
	number = processes_find_mapping(&processes, getpid(), our_code());
	assert_int_not_equal(number, 0);
	map_library(getpid(), page, 1, lost + 1);
	assert_int_equal(processes_find_mapping(&processes, getpid(), our_code()), number);
	map_library(getpid(), page, 1, now());
	assert_int_not_equal(processes_find_mapping(&processes, getpid(), our_code()), number);
}

/* What is mapped now may not have been mapped yet at the earlier time of the sample. */
static void test_maps_read_again_are_unsure_until_then(void **state)
{
	uint64_t before;

	do_fork(1, getpid(), 10);
	processes_lose(&processes, 11);
	do_exec(getpid(), "program", 12);
	map_library(getpid(), 0x1000, 1, 13);
	assert_false(is_unsure(getpid(), 14));
	before = now();
	sample(getpid(), our_code(), 14); /* unmapped address */
	assert_int_equal(processes.n_rereads, 1);
	assert_true(is_unsure(getpid(), 14));
	assert_true(is_unsure(getpid(), before));
	assert_false(is_unsure(getpid(), now()));
	before = now();
	assert_int_equal(processes_read_all_again(&processes, 15), 0);
	assert_true(is_unsure(getpid(), before));
	assert_false(is_unsure(getpid(), now()));
}

/* One ring has a gap until now, another until its latest record. */
static void test_a_gap_is_not_over_before_the_last_one(void **state)
{
	processes_lose(&processes, 100);
	processes_lose(&processes, 50);
	do_fork(1, PID, 60);
	do_exec(PID, "program", 70);
	assert_true(is_unsure(PID, 80));
	processes_lose(&processes, UINT64_MAX);
	processes_lose(&processes, 90);
	do_exec(PID, "program", 101);
	assert_false(is_unsure(PID, 101));
}

static void do_storm(uint32_t pid, uint64_t n, uint64_t time)
{
	for (uint64_t i = 0; i < n; i++)
		map_library(pid, 0x1000, i % 2 + 1, time);
}

static void test_a_storm_of_mappings_is_emitted_up_to_a_budget(void **state)
{
	uint64_t time = NANOSECONDS_A_SECOND;

	do_fork(1, PID, 10);
	do_fork(1, PID + 1, 10);
	do_comm(PID, PID, "storm", 0, 11);
	do_storm(PID, OF_PROCESS, time);
	assert_int_equal(count("over-budget"), 0);
	assert_false(is_unsure(PID, time));
	do_storm(PID, OF_PROCESS, time);
	assert_in_range(processes.n_mappings, OF_PROCESS, OF_PROCESS + 10);
	assert_in_range(count("over-budget"), OF_PROCESS - 10, OF_PROCESS);
	assert_int_equal(count("over-budget"),
			 *counters_get(&stream.stage.counters, "over-budget", "storm"));
	assert_int_equal(processes.over_budget.n, 1);
	assert_int_equal(processes.over_budget.first_pid, PID);
	assert_string_equal(processes.over_budget.first_name, "storm");
	assert_true(is_unsure(PID, time));
	assert_false(is_unsure(PID + 1, time));
}

static void test_a_storm_of_names_is_emitted_up_to_a_budget(void **state)
{
	do_fork(1, PID, 10);
	for (int i = 0; i < OF_PROCESS + 1000; i++)
		do_comm(PID, PID, i % 2 ? "left" : "right", 0, 11);
	assert_in_range(count("over-budget"), 990, 1000);
}

static void test_exec_keeps_the_budget(void **state)
{
	do_fork(1, PID, 10);
	do_storm(PID, OF_PROCESS, 11);
	do_exec(PID, "program", 11);
	do_storm(PID, 1000, 11);
	assert_in_range(count("over-budget"), 990, 1000);
	assert_true(is_unsure(PID, 11));
}

static void test_after_a_storm_maps_are_read_again(void **state)
{
	uint64_t time = now();

	do_fork(1, getpid(), 10);
	do_exec(getpid(), "program", 11);
	do_storm(getpid(), OF_PROCESS + 1000, time);
	sample(getpid(), 0x1000, time + 1);
	assert_int_equal(processes.n_rereads, 0); /* the storm has not ended */
	sample(getpid(), 0x1000, time + NANOSECONDS_A_SECOND);
	assert_int_equal(processes.n_rereads, 1);
	assert_false(is_unsure(getpid(), time + NANOSECONDS_A_SECOND));
}

/* Each process is below its own budget. */
static void test_processes_of_one_user_have_a_budget_together(void **state)
{
	pid_t first = start_child(), second = start_child();

	do_fork(1, PID, 10);
	do_fork(1, first, 10);
	do_fork(1, second, 10);
	do_storm(first, OF_PROCESS, 11);
	for (int i = 0; i < 3; i++)
		do_fork(second, PID + 1 + i, 11); /* children belong to that user */
	do_storm(second, OF_PROCESS / 2, 11);
	for (int i = 0; i < 3; i++)
		do_fork(second, PID + 4 + i, 11);
	do_storm(PID + 4, OF_PROCESS - 10, 11);
	assert_in_range(count("over-budget"), OF_USER / 4 - 1000, OF_USER / 4 + 1000);
	assert_true(is_unsure(PID + 4, 11));
	do_storm(PID, 1000, 11); /* of another user */
	assert_false(is_unsure(PID, 11));
	end_child(first);
	end_child(second);
}

static struct tracked_process *of(uint32_t pid)
{
	return processes_find(&processes, pid);
}

/* Reading /proc for one user must not delay other users. */
static void test_proc_reads_have_a_budget_per_user(void **state)
{
	const uint64_t time = NANOSECONDS_A_SECOND, took = NANOSECONDS_A_SECOND / 10;
	pid_t child = start_child();

	do_fork(1, PID, 10);
	do_fork(1, child, 10);
	do_storm(child, OF_PROCESS / 2, time); /* makes its user known */
	do_fork(child, PID + 1, time);
	assert_true(processes_may_look(of(child), time));
	processes_spend_look(of(child), took);
	assert_false(processes_may_look(of(child), time));
	assert_false(processes_may_look(of(PID + 1), time));
	assert_true(processes_may_look(of(PID), time));
	assert_true(processes_may_look(of(child), time + 4 * took));
	end_child(child);
}

static bool counted(uint32_t pid, void *arg)
{
	n_asked++;
	return true;
}

static bool nothing_waits(uint32_t pid, void *arg)
{
	return false;
}

/* Whether a child shares its parent's memory may stay unknown; its maps are costly to read. */
static void test_reads_of_a_parents_maps_are_limited(void **state)
{
	pid_t child = start_child();

	processes.proc.is_changing = counted;
	processes.proc.is_mapping = nothing_waits;
	do_fork(1, getpid(), 10);
	do_fork(getpid(), child, 11);
	do_storm(child, 1000, 12);
	assert_in_range(n_asked, 1, 20);
	end_child(child);
}

static bool is_child(uint32_t pid, void *arg)
{
	return pid == *(uint32_t *)arg;
}

/* A child whose state is unknown maps what its parent has mapped there, but only for itself. */
static void test_a_child_that_maps_the_same_is_not_its_parent(void **state)
{
	uint32_t child = start_child(), number;
	struct mapping text;

	processes.proc.is_changing = is_child;
	processes.proc.is_mapping = nothing_waits;
	processes.proc.arg = &child;
	assert_int_equal(processes_scan(&processes, getpid(), 10), 0);
	text = *mapping_table_find(processes_mappings(&processes, getpid()), our_code());
	do_fork(getpid(), child, now());
	map_library(child, text.start, 1, now());
	do_mmap_our_text(child, &text, now());
	number = processes_find_mapping(&processes, getpid(), text.start);
	assert_int_equal(number, text.number);
	map_library(child, text.start, 1, now());
	assert_int_equal(processes_find_mapping(&processes, getpid(), text.start), number);
	end_child(child);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down_processes)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_without_a_loss_all_maps_are_sure),
		TEST(test_processes_older_than_a_loss_are_unsure),
		TEST(test_an_exec_after_a_loss_is_sure),
		TEST(test_a_child_is_as_unsure_as_its_parent),
		TEST(test_maps_read_again_are_valid_from_then_on),
		TEST(test_older_records_do_not_undo_what_was_read),
		TEST(test_maps_read_again_are_unsure_until_then),
		TEST(test_a_gap_is_not_over_before_the_last_one),
		TEST(test_a_storm_of_mappings_is_emitted_up_to_a_budget),
		TEST(test_a_storm_of_names_is_emitted_up_to_a_budget),
		TEST(test_exec_keeps_the_budget),
		TEST(test_after_a_storm_maps_are_read_again),
		TEST(test_processes_of_one_user_have_a_budget_together),
		TEST(test_proc_reads_have_a_budget_per_user),
		TEST(test_reads_of_a_parents_maps_are_limited),
		TEST(test_a_child_that_maps_the_same_is_not_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
