/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Identity through fork, exec and exit: hand-made events in, records out as text. PIDs above any
 * pid_max never exist in /proc; where /proc matters, the process is this one or a child.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/source/test-processes.h"

static void do_clone_thread(uint32_t pid, uint32_t tid, uint64_t time)
{
	clone_of(pid, pid, tid, time);
}

/* Reaps long after an exit, since a task is still sampled shortly after it. */
static void reap(void)
{
	assert_int_equal(processes_reap(&processes, PROCESSES_LINGER_NS + 1000), 0);
}

static void test_a_fork_inherits_name_and_mappings(void **state)
{
	do_fork(1, PID, 10);
	do_comm(PID, PID, "parent", 0, 11);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 12);
	do_fork(PID, PID + 1, 13);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "thread 1/5000000 'parent'\n"
	      "image 3 file '/bin/a'\n"
	      "mapping 1 of 1 1000+1000 at 0 of image 3\n"
	      "process 2 pid 5000001 forked of 1 'parent'\n");
	/* The child has inherited the mapping, and its own mappings do not change its parent's. */
	do_mmap(PID + 1, 0x1000, 0x1000, 0, "/bin/a", 5, 14);
	check("");
	do_mmap(PID + 1, 0x1000, 0x1000, 0, "/bin/b", 6, 15);
	check("image 4 file '/bin/b'\n"
	      "mapping 2 of 2 1000+1000 at 0 of image 4\n");
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 16);
	check("");
}

static void test_an_exec_is_a_new_incarnation_without_mappings(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 12);
	do_exec(PID, "b", 20);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 21);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "image 3 file '/bin/a'\n"
	      "mapping 1 of 1 1000+1000 at 0 of image 3\n"
	      "exit 1\n"
	      "process 2 pid 5000000 executed of 1 'b'\n"
	      "mapping 2 of 2 1000+1000 at 0 of image 3\n");
	assert_int_equal(sample(PID, 0x1000, 22), 2);
}

static void test_an_exec_of_an_unknown_process_is_emitted(void **state)
{
	do_exec(PID, "b", 20);
	check("process 1 pid 5000000 executed of 0 'b'\n");
}

static void test_a_threads_exit_is_not_its_processs(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_exit(PID, PID + 7, 12);
	reap();
	check("process 1 pid 5000000 forked of 0 ''\n");
	do_exit(PID, PID, 13);
	reap();
	check("exit 1\n");
}

static void test_exited_processes_may_still_be_sampled(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	do_exit(PID, PID, 20);
	assert_int_equal(processes_reap(&processes, 20 + PROCESSES_LINGER_NS - 1), 0);
	test_stream_text(&stream);
	assert_int_equal(sample(PID, 0x1000, 21), 1);
	assert_int_equal(sample(PID, 0x9000, 22), 1);
	assert_int_equal(processes.n_rereads, 0); /* gone from /proc */
	check("");
	assert_int_equal(processes_reap(&processes, 20 + PROCESSES_LINGER_NS), 0);
	check("exit 1\n");
	reap();
	check("");
}

static void test_processes_are_reaped_in_exit_order(void **state)
{
	for (uint32_t i = 0; i < 200; i++)
		do_fork(1, PID + i, 10);
	test_stream_text(&stream);
	for (uint32_t i = 200; i-- > 0;)
		do_exit(PID + i, PID + i, 1000 - i);
	assert_int_equal(processes_reap(&processes, PROCESSES_LINGER_NS + 802), 0);
	check("exit 200\nexit 199\n");
	reap();
	assert_int_equal(processes.n_exited, 0);
	assert_non_null(strstr(test_stream_text(&stream), "exit 1\n"));
}

static void test_a_reused_pid_is_not_reaped_with_the_old_one(void **state)
{
	do_fork(1, PID, 10);
	do_exit(PID, PID, 11);
	do_fork(1, PID, 12);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "exit 1\n"
	      "process 2 pid 5000000 forked of 0 ''\n");
	reap();
	check("");
	assert_int_equal(sample(PID, 0, 13), 2);
}

static void test_a_leader_that_exits_first_leaves_the_process(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_clone_thread(PID, PID + 8, 12);
	do_exit(PID, PID, 13);
	do_exit(PID, PID + 7, 14);
	assert_int_equal(sample(PID, 0, 15), 1);
	reap();
	check("process 1 pid 5000000 forked of 0 ''\n");
	do_exit(PID, PID + 8, 16);
	reap();
	check("exit 1\n");
}

static void test_an_exec_ends_all_other_threads(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_exit(PID, PID, 12); /* the executing thread takes over the leader's id */
	do_exec(PID, "b", 13);
	test_stream_text(&stream);
	do_exit(PID, PID, 14);
	reap();
	check("exit 2\n");
}

static void test_a_pid_used_again_is_another_process(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	do_exit(PID, PID, 12);
	do_fork(1, PID, 20);
	test_stream_text(&stream);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 21);
	check("mapping 2 of 2 1000+1000 at 0 of image 3\n");
}

static void test_a_reused_pid_ends_the_process_before(void **state)
{
	do_fork(1, PID, 10);
	do_fork(1, PID, 20);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "exit 1\n"
	      "process 2 pid 5000000 forked of 0 ''\n");
}

static void test_an_unknown_processs_exit_emits_nothing(void **state)
{
	do_exit(PID, PID, 10);
	do_clone_thread(PID, PID + 1, 11);
	do_comm(PID, PID, "name", 0, 12);
	do_exit(PID_UNKNOWN, PID_UNKNOWN, 13);
	reap();
	check("");
}

static void test_the_leader_names_the_process(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_comm(PID, PID + 7, "worker", 0, 12);
	do_comm(PID, PID, "main", 0, 13);
	do_fork(PID, PID + 8, 14);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "thread 1/5000007 'worker'\n"
	      "thread 1/5000000 'main'\n"
	      "process 2 pid 5000008 forked of 1 'main'\n");
}

static void test_samples_of_exited_processes_get_a_process(void **state)
{
	assert_int_equal(sample(PID, 0x1234, 10), 1);
	assert_int_equal(sample(PID, 0x1234, 11), 1);
	assert_int_equal(sample(PID_UNKNOWN, 0x1234, 12), 2);
	assert_int_equal(sample(0, 0, 13), 3);
	check("process 1 pid 5000000 found of 0 ''\n"
	      "process 2 pid 4294967295 found of 0 ''\n"
	      "process 3 pid 0 found of 0 'swapper'\n");
}

static void test_a_scan_of_an_exited_process_emits_nothing(void **state)
{
	assert_int_equal(processes_scan(&processes, PID, 10), 0);
	check("");
}

static void test_a_scanned_process_has_its_name_and_mappings(void **state)
{
	union wire_view view;
	int n;

	assert_int_equal(processes_scan(&processes, getpid(), 10), 0);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_process);
	assert_int_equal(view.process.origin, WIRE_origin_SCANNED);
	assert_int_equal(view.process.time, 10);
	assert_int_equal(view.process.pid, getpid());
	assert_string_equal(view.process.name.data, "test-processes");
	assert_int_not_equal(find_mapping(1, our_code(), &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(processes_scan(&processes, getpid(), 11), 0); /* already known */
	check("");
	assert_int_equal(sample(getpid(), our_code(), 12), 1);
	check("");
}

static void test_events_older_than_the_maps_are_ignored(void **state)
{
	uint64_t before = clock_now(CLOCK_MONOTONIC), after;
	char expected[64];

	assert_int_equal(processes_scan(&processes, getpid(), before), 0);
	test_stream_text(&stream);
	after = clock_now(CLOCK_MONOTONIC);
	do_fork(1, getpid(), before);
	do_exec(getpid(), "older", before);
	do_comm(getpid(), getpid(), "older", 0, before);
	do_mmap(getpid(), 0x1000, 0x1000, 0, "/older", 5, before);
	do_clone_thread(getpid(), PID, before);
	do_exit(getpid(), getpid(), before);
	check("");
	do_comm(getpid(), getpid(), "newer", 0, after);
	do_exit(getpid(), getpid(), after);
	assert_int_equal(processes_reap(&processes, after + PROCESSES_LINGER_NS), 0);
	snprintf(expected, sizeof(expected), "thread 1/%d 'newer'\nexit 1\n", getpid());
	check(expected);
}

static bool always(uint32_t pid, void *arg)
{
	++*(int *)arg;
	return true;
}

static void test_a_process_about_to_exec_is_not_read(void **state)
{
	char expected[64];
	int n_asked = 0;

	processes.proc.is_changing = always;
	processes.proc.arg = &n_asked;
	assert_int_equal(sample(getpid(), our_code(), 10), 1);
	assert_true(n_asked > 0);
	snprintf(expected, sizeof(expected), "process 1 pid %d found of 0 ''\n", getpid());
	check(expected);
	/* Not read again. Old events still apply, because nothing newer is known. */
	do_mmap(getpid(), 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	check("image 3 file '/bin/a'\n"
	      "mapping 1 of 1 1000+1000 at 0 of image 3\n");
	assert_int_equal(processes_read_all_again(&processes, 12), 0);
	check("");
	do_exec(getpid(), "b", 13);
	assert_int_equal(sample(getpid(), our_code(), 14), 2);
	snprintf(expected, sizeof(expected), "exit 1\nprocess 2 pid %d executed of 1 'b'\n",
		 getpid());
	check(expected);
}

static void test_a_scan_skips_processes_about_to_exec(void **state)
{
	int n_asked = 0;

	processes.proc.is_changing = always;
	processes.proc.arg = &n_asked;
	assert_int_equal(processes_scan(&processes, getpid(), 10), 0);
	check("");
}

static void test_after_a_loss_the_living_stay_and_the_dead_end(void **state)
{
	pid_t living = start_child(false);

	begin_with_one_mapping(living);
	do_fork(1, PID, 12);
	test_stream_text(&stream);
	assert_int_equal(processes_read_all_again(&processes, 20), 0);
	test_stream_text(&stream);
	assert_true(has_line("exit 2\n"));
	assert_false(has_line("exit 1\n"));
	assert_false(has_line("process "));
	assert_int_equal(sample(living, 0, 21), 1);
	kill(living, SIGKILL);
	waitpid(living, NULL, 0);
}

static void test_after_a_loss_a_zombie_is_not_another_process(void **state)
{
	pid_t zombie = start_child(true);

	do_fork(1, zombie, 10);
	do_mmap(zombie, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	test_stream_text(&stream);
	assert_int_equal(processes_read_all_again(&processes, 20), 0);
	test_stream_text(&stream);
	waitpid(zombie, NULL, 0);
	assert_false(has_line("process "));
}

static void *outlive_the_leader(void *arg)
{
	char path[64], state = 0;
	int *ready = arg;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	while (state != 'Z') {
		FILE *stat = fopen(path, "re");

		if (!stat || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
			_exit(1);
		fclose(stat);
		sched_yield();
	}
	if (write(*ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void *wait_with_a_name(void *ends)
{
	char byte;

	prctl(PR_SET_NAME, "named");
	if (write(((int *)ends)[3], "", 1) == 1 && read(((int *)ends)[0], &byte, 1) < 0)
		return ends;
	return NULL;
}

/* No event reports the names of threads that already exist. */
static void test_existing_threads_have_their_names(void **state)
{
	int ends[4]; /* to the thread, and from it */
	pthread_t thread;
	char byte;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(ends + 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_with_a_name, ends), 0);
	assert_int_equal(read(ends[2], &byte, 1), 1);
	assert_int_equal(processes_scan(&processes, getpid(), 10), 0);
	assert_int_equal(write(ends[1], "", 1), 1);
	pthread_join(thread, NULL);
	assert_non_null(strstr(test_stream_text(&stream), " 'named'\n"));
	for (int i = 0; i < 4; i++)
		close(ends[i]);
}

/* A process whose main thread has exited while another thread runs on. */
static pid_t start_without_leader(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pthread_create(&thread, NULL, outlive_the_leader, &ends[1]))
			_exit(1);
		syscall(SYS_exit, 0); /* exits this thread only */
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

/* /proc/PID/maps is empty once the leader has exited; other threads' maps are not. */
static void test_mappings_are_read_without_a_leader(void **state)
{
	pid_t pid = start_without_leader();
	int n;

	assert_int_equal(processes_scan(&processes, pid, 10), 0);
	assert_int_not_equal(find_mapping(1, our_code(), &n), 0);
	assert_int_equal(processes_read_all_again(&processes, 20), 0);
	assert_int_equal(processes.n_rereads, 1);
	test_stream_text(&stream);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(has_line("exit "));
	assert_false(has_line("process "));
}

static void test_many_processes_and_their_ends(void **state)
{
	for (uint32_t i = 0; i < 20000; i++) {
		do_fork(PID, PID + 1 + i % 1000, 10 + i);
		if (i % 3 == 0)
			do_exit(PID + 1 + i % 1000, PID + 1 + i % 1000, 10 + i);
	}
	assert_int_equal(processes.n_upids, 20000);
}

static void test_a_sweep_ends_processes_whose_exit_was_missed(void **state)
{
	pid_t living = start_child(false), dead = start_child(true);

	begin_with_one_mapping(living);
	waitpid(dead, NULL, 0);
	do_fork(1, dead, 12);
	test_stream_text(&stream);
	sweep(PROCESSES_SWEEP_NS - 1);
	assert_false(has_line("exit "));
	sweep(PROCESSES_SWEEP_NS);
	assert_true(has_line("exit 2\n"));
	assert_false(has_line("exit 1\n"));
	assert_int_equal(*counters_get(&stream.stage.counters, "processes", "missed-exits"), 1);
	kill(living, SIGKILL);
	waitpid(living, NULL, 0);
}

static void test_a_sweep_skips_other_pid_namespaces(void **state)
{
	pid_t dead = start_child(true);

	waitpid(dead, NULL, 0);
	do_fork(1, dead, 12);
	processes.proc = proc_view_absent;
	test_stream_text(&stream);
	sweep(PROCESSES_SWEEP_NS);
	assert_false(has_line("exit "));
}

int main(void)
{
#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, set_up_processes, tear_down_processes)
	const struct CMUnitTest tests[] = {
		TEST(test_a_fork_inherits_name_and_mappings),
		TEST(test_an_exec_is_a_new_incarnation_without_mappings),
		TEST(test_an_exec_of_an_unknown_process_is_emitted),
		TEST(test_a_threads_exit_is_not_its_processs),
		TEST(test_exited_processes_may_still_be_sampled),
		TEST(test_processes_are_reaped_in_exit_order),
		TEST(test_a_reused_pid_is_not_reaped_with_the_old_one),
		TEST(test_a_leader_that_exits_first_leaves_the_process),
		TEST(test_an_exec_ends_all_other_threads),
		TEST(test_a_pid_used_again_is_another_process),
		TEST(test_a_reused_pid_ends_the_process_before),
		TEST(test_an_unknown_processs_exit_emits_nothing),
		TEST(test_the_leader_names_the_process),
		TEST(test_samples_of_exited_processes_get_a_process),
		TEST(test_a_scan_of_an_exited_process_emits_nothing),
		TEST(test_a_scanned_process_has_its_name_and_mappings),
		TEST(test_events_older_than_the_maps_are_ignored),
		TEST(test_a_process_about_to_exec_is_not_read),
		TEST(test_a_scan_skips_processes_about_to_exec),
		TEST(test_after_a_loss_the_living_stay_and_the_dead_end),
		TEST(test_after_a_loss_a_zombie_is_not_another_process),
		TEST(test_mappings_are_read_without_a_leader),
		TEST(test_existing_threads_have_their_names),
		TEST(test_many_processes_and_their_ends),
		TEST(test_a_sweep_ends_processes_whose_exit_was_missed),
		TEST(test_a_sweep_skips_other_pid_namespaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
