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

#include "common/clock.h"
#include "common/processes.h"
#include "common/test-stream.h"

enum { PID = 5000000, PAGE = 4096, PIECES_MAX = 1024, LARGE = 60000 };

static struct test_stream stream;
static struct images images;
static struct processes processes;

static bool nothing_waits(uint32_t pid, void *arg)
{
	return false;
}

static int set_up(void **state)
{
	test_stream_init(&stream);
	images_init(&images, &stream.stage, -1);
	processes_init(&processes, &stream.stage, &images);
	processes.is_mapping = nothing_waits;
	return 0;
}

static int tear_down(void **state)
{
	processes_deinit(&processes);
	images_deinit(&images);
	test_stream_deinit(&stream);
	return 0;
}

static void do_fork(uint32_t parent, uint32_t pid, uint64_t time)
{
	struct record_task task = {
		.header = { PERF_RECORD_FORK, 0, sizeof(task) + sizeof(struct record_id) },
		.pid = pid,
		.parent_pid = parent,
		.tid = pid,
		.parent_tid = parent,
		.time = time,
	};

	assert_int_equal(processes_fork(&processes, &task, time), 0);
}

static void do_exec(uint32_t pid, uint64_t time)
{
	static _Alignas(8) char record[128];
	struct record_comm *comm = (void *)record;

	memset(record, 0, sizeof(record));
	comm->header = (struct perf_event_header){ PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC,
						   sizeof(*comm) + 8 + sizeof(struct record_id) };
	comm->pid = comm->tid = pid;
	strcpy(comm->name, "other");
	assert_int_equal(processes_comm(&processes, comm, time), 0);
}

static void do_mmap(uint32_t pid, uint64_t start, const char *path, uint64_t inode, uint64_t time)
{
	static _Alignas(8) char record[512];
	struct record_mmap2 *mmap2 = (void *)record;
	size_t size = (strlen(path) + 8) & ~7UL;

	memset(record, 0, sizeof(record));
	mmap2->header =
		(struct perf_event_header){ PERF_RECORD_MMAP2, 0,
					    sizeof(*mmap2) + size + sizeof(struct record_id) };
	mmap2->pid = mmap2->tid = pid;
	mmap2->start = start;
	mmap2->length = PAGE;
	mmap2->offset = inode ? 0 : start;
	mmap2->inode = inode;
	mmap2->protection = PROT_READ | PROT_EXEC;
	strcpy(mmap2->path, path);
	assert_int_equal(processes_mmap(&processes, mmap2, time), 0);
}

/* Whether a line that was written begins like this. */
static bool has_line(const char *beginning)
{
	for (const char *line = stream.text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, beginning, strlen(beginning)))
			return true;
	}
	return false;
}

static size_t count_mapped(uint32_t pid)
{
	return processes_mappings(&processes, pid)->n;
}

/* Passes over what was told. */
static void drain(void)
{
	union wire_view view;

	while (test_stream_next(&stream, &view))
		;
}

static int wait_for_ever(void *arg)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not get to kill it */
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

static void test_what_one_maps_all_have_that_share_its_memory(void **state)
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
	do_mmap(one, 0x1000, "/bin/a", 5, now + 1);
	test_stream_text(&stream);
	assert_true(has_line("mapping "));
	assert_int_not_equal(processes_find_mapping(&processes, getpid(), 0x1000), 0);
	assert_int_equal(processes_find_mapping(&processes, getpid(), 0x1000),
			 processes_find_mapping(&processes, other, 0x1000));
	/* It is told once, whoever maps it again. */
	do_mmap(other, 0x1000, "/bin/a", 5, now + 2);
	assert_string_equal(test_stream_text(&stream), "");
	/* A program of its own has a memory of its own. */
	do_exec(other, now + 3);
	assert_int_equal(processes_find_mapping(&processes, other, 0x1000), 0);
	do_mmap(other, 0x3000, "/bin/b", 6, now + 4);
	assert_int_equal(processes_find_mapping(&processes, getpid(), 0x3000), 0);
	end(one);
	end(other);
}

static void map_pieces(uint32_t pid, unsigned int n, const char *path, uint64_t inode)
{
	for (unsigned int i = 1; i <= n; i++)
		do_mmap(pid, i * 2ULL * PAGE, path, inode, 11 + i * 1000000ULL);
}

static void test_forks_of_very_many_pieces_without_a_file_are_given_up(void **state)
{
	uint64_t time = 100 * NANOSECONDS_A_SECOND;

	do_fork(1, PID, 10);
	map_pieces(PID, PIECES_MAX, "//anon", 0);
	do_fork(PID, PID + 1, time);
	assert_int_equal(count_mapped(PID + 1), PIECES_MAX);
	assert_int_equal(processes.n_over_limit, 0);
	do_mmap(PID, 0x7f0000000000, "//anon", 0, time + 1);
	do_fork(PID, PID + 2, time + 2);
	assert_int_equal(count_mapped(PID + 2), 0);
	assert_int_equal(count_mapped(PID), PIECES_MAX + 1);
	assert_int_equal(processes.n_over_limit, 1);
	assert_int_equal(processes.over_limit_pid, PID + 2);
	/* What it maps itself is not told either, nor what its own children have. */
	do_mmap(PID + 2, 0x1000, "/bin/a", 5, time + 3);
	do_fork(PID + 2, PID + 3, time + 4);
	do_mmap(PID + 3, 0x1000, "/bin/a", 5, time + 5);
	assert_int_equal(count_mapped(PID + 2) + count_mapped(PID + 3), 0);
	do_exec(PID + 3, time + 6);
	do_mmap(PID + 3, 0x1000, "/bin/a", 5, time + 7);
	assert_int_equal(count_mapped(PID + 3), 1);
}

/* Of one user; nobody knows whose the processes here are. */
static void test_who_has_most_is_given_up_when_all_have_too_much(void **state)
{
	uint32_t n = 0;

	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, "/bin/a", 5, 11);
	while (!processes.n_over_limit && n < 100) {
		do_fork(1, PID + ++n, 12);
		for (unsigned int i = 1; i <= LARGE && !processes.n_over_limit; i++)
			do_mmap(PID + n, i * 2ULL * PAGE, "/bin/a", 5,
				13 + n * 100 * NANOSECONDS_A_SECOND + i * 1000000ULL);
		drain();
	}
	assert_in_range(n, PROCESSES_MAPPINGS_MAX / (LARGE * 60), 99);
	assert_in_range(processes.mappings.n_bytes, 1, PROCESSES_MAPPINGS_KEPT);
	assert_int_equal(count_mapped(PID), 1);
	assert_int_equal(count_mapped(PID + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_what_one_maps_all_have_that_share_its_memory,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_forks_of_very_many_pieces_without_a_file_are_given_up, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			test_who_has_most_is_given_up_when_all_have_too_much, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
