/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hand-made events in, records out as lines of text. PIDs above any pid_max are never found in
 * /proc; where /proc matters, the process is this one or a child.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/image-message.h"
#include "common/source/test-events.h"

static void do_clone_thread(uint32_t pid, uint32_t tid, uint64_t time)
{
	clone_of(pid, pid, tid, time);
}

static void do_exit(uint32_t pid, uint32_t tid, uint64_t time)
{
	struct record_task task = {
		.header = { PERF_RECORD_EXIT, 0, sizeof(task) + sizeof(struct record_id) },
		.pid = pid,
		.parent_pid = 1,
		.tid = tid,
		.parent_tid = 1,
		.time = time,
	};

	assert_int_equal(processes_exit(&processes, &task, time), 0);
}

static uint64_t sample(uint32_t pid, uint64_t address, uint64_t time)
{
	uint64_t upid = 0;

	assert_int_equal(processes_of_sample(&processes, pid, address, time, &upid), 0);
	return upid;
}

/* Long after an exit: a task is sampled for a while after it. */
static void bury(void)
{
	assert_int_equal(processes_bury(&processes, PROCESSES_LINGER_NS + 1000), 0);
}

static void check(const char *expected)
{
	assert_string_equal(test_stream_text(&stream), expected);
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
	/* The child knows it already, and changes nothing of its parent's. */
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

static void test_an_exec_of_an_unknown_process_is_told(void **state)
{
	do_exec(PID, "b", 20);
	check("process 1 pid 5000000 executed of 0 'b'\n");
}

static void test_a_threads_exit_is_not_its_processs(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_exit(PID, PID + 7, 12);
	bury();
	check("process 1 pid 5000000 forked of 0 ''\n");
	do_exit(PID, PID, 13);
	bury();
	check("exit 1\n");
}

static void test_a_process_is_sampled_for_a_while_after_its_exit(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	do_exit(PID, PID, 20);
	assert_int_equal(processes_bury(&processes, 20 + PROCESSES_LINGER_NS - 1), 0);
	test_stream_text(&stream);
	assert_int_equal(sample(PID, 0x1000, 21), 1);
	assert_int_equal(sample(PID, 0x9000, 22), 1);
	assert_int_equal(processes.n_rereads, 0); /* /proc knows nothing of it any more */
	check("");
	assert_int_equal(processes_bury(&processes, 20 + PROCESSES_LINGER_NS), 0);
	check("exit 1\n");
	bury();
	check("");
}

static void test_processes_are_buried_in_the_order_of_their_exits(void **state)
{
	for (uint32_t i = 0; i < 200; i++)
		do_fork(1, PID + i, 10);
	test_stream_text(&stream);
	for (uint32_t i = 200; i-- > 0;)
		do_exit(PID + i, PID + i, 1000 - i);
	assert_int_equal(processes_bury(&processes, PROCESSES_LINGER_NS + 802), 0);
	check("exit 200\nexit 199\n");
	bury();
	assert_int_equal(processes.n_exited, 0);
	assert_non_null(strstr(test_stream_text(&stream), "exit 1\n"));
}

static void test_a_pid_used_again_is_not_buried_with_the_one_before(void **state)
{
	do_fork(1, PID, 10);
	do_exit(PID, PID, 11);
	do_fork(1, PID, 12);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "exit 1\n"
	      "process 2 pid 5000000 forked of 0 ''\n");
	bury();
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
	bury();
	check("process 1 pid 5000000 forked of 0 ''\n");
	do_exit(PID, PID + 8, 16);
	bury();
	check("exit 1\n");
}

static void test_an_exec_ends_all_other_threads(void **state)
{
	do_fork(1, PID, 10);
	do_clone_thread(PID, PID + 7, 11);
	do_exit(PID, PID, 12); /* the leader makes room for the thread that executes */
	do_exec(PID, "b", 13);
	test_stream_text(&stream);
	do_exit(PID, PID, 14);
	bury();
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

static void test_a_pid_used_again_ends_the_one_whose_exit_was_lost(void **state)
{
	do_fork(1, PID, 10);
	do_fork(1, PID, 20);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "exit 1\n"
	      "process 2 pid 5000000 forked of 0 ''\n");
}

static void test_an_exit_of_an_unknown_process_says_nothing(void **state)
{
	do_exit(PID, PID, 10);
	do_clone_thread(PID, PID + 1, 11);
	do_comm(PID, PID, "name", 0, 12);
	do_exit(PID_UNKNOWN, PID_UNKNOWN, 13);
	bury();
	check("");
}

static void test_threads_are_named_and_the_leader_names_the_process(void **state)
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

static void test_memory_that_is_not_executable_is_passed_over(void **state)
{
	_Alignas(8) char record[128] = { 0 };
	struct record_mmap2 *mmap2 = (void *)record;

	do_fork(1, PID, 10);
	test_stream_text(&stream);
	mmap2->header = (struct perf_event_header){ PERF_RECORD_MMAP2, 0, sizeof(record) };
	mmap2->pid = PID;
	mmap2->length = 0x1000;
	mmap2->protection = PROT_READ | PROT_WRITE;
	assert_int_equal(processes_mmap(&processes, mmap2, 11), 0);
	/* Executable, but its path does not end within the record. */
	mmap2->protection = PROT_EXEC;
	memset(mmap2->path, 'x', sizeof(record) - sizeof(*mmap2));
	assert_int_equal(processes_mmap(&processes, mmap2, 12), 0);
	check("");
}

static void test_an_impossible_mapping_is_counted(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0, 0, "/bin/a", 5, 11);
	do_mmap(PID, UINT64_MAX - 5, 0x1000, 0, "/bin/a", 5, 12);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 13);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "image 3 file '/bin/a'\n"
	      "mapping 1 of 1 1000+1000 at 0 of image 3\n");
	assert_int_equal(*counters_get(&stream.stage.counters, "refused", "mapping"), 2);
}

static void test_the_kernel_is_everybodys(void **state)
{
	assert_int_equal(processes_add_kernel(&processes, (struct wire_blob){ "", 0 }, 5), 0);
	check("image 1 kernel '[kernel]'\n"
	      "mapping 1 of 0 8000000000000000+7fffffffffffffff at 8000000000000000 of image 1\n");
}

static void test_a_sample_of_a_process_that_is_gone_gets_a_process_all_the_same(void **state)
{
	assert_int_equal(sample(PID, 0x1234, 10), 1);
	assert_int_equal(sample(PID, 0x1234, 11), 1);
	assert_int_equal(sample(PID_UNKNOWN, 0x1234, 12), 2);
	assert_int_equal(sample(0, 0, 13), 3);
	check("process 1 pid 5000000 found of 0 ''\n"
	      "process 2 pid 4294967295 found of 0 ''\n"
	      "process 3 pid 0 found of 0 'swapper'\n");
}

static void test_a_scan_of_a_process_that_is_gone_says_nothing(void **state)
{
	assert_int_equal(processes_scan(&processes, PID, 10), 0);
	check("");
}

/* The mapping of one of this process's addresses, in what was written; 0: there is none. */
static uint32_t find_mapping(uint64_t upid, uint64_t address, int *ret_n)
{
	union wire_view view;
	uint32_t found = 0;
	uint16_t type;

	*ret_n = 0;
	while ((type = test_stream_next(&stream, &view))) {
		if (type != WIRE_RECORD_mapping || view.mapping.process != upid ||
		    address < view.mapping.start ||
		    address - view.mapping.start >= view.mapping.length)
			continue;
		found = view.mapping.mapping;
		++*ret_n;
	}
	return found;
}

static uint64_t our_code(void)
{
	return (uintptr_t)our_code;
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
	assert_int_equal(processes_scan(&processes, getpid(), 11), 0); /* known by now */
	check("");
	assert_int_equal(sample(getpid(), our_code(), 12), 1);
	check("");
}

static void test_events_older_than_what_was_read_are_ignored_and_newer_ones_taken(void **state)
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
	assert_int_equal(processes_bury(&processes, after + PROCESSES_LINGER_NS), 0);
	snprintf(expected, sizeof(expected), "thread 1/%d 'newer'\nexit 1\n", getpid());
	check(expected);
}

static bool always(uint32_t pid, void *arg)
{
	++*(int *)arg;
	return true;
}

static void test_nothing_is_read_of_a_process_that_is_about_to_change(void **state)
{
	char expected[64];
	int n_asked = 0;

	processes.proc.is_changing = always;
	processes.proc.arg = &n_asked;
	assert_int_equal(sample(getpid(), our_code(), 10), 1);
	assert_true(n_asked > 0);
	snprintf(expected, sizeof(expected), "process 1 pid %d found of 0 ''\n", getpid());
	check(expected);
	/* Nor again. Its old events count: nothing newer is known of it. */
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

static void test_a_scan_leaves_out_what_is_about_to_change(void **state)
{
	int n_asked = 0;

	processes.proc.is_changing = always;
	processes.proc.arg = &n_asked;
	assert_int_equal(processes_scan(&processes, getpid(), 10), 0);
	check("");
}

/* A process that is known by its events, and has mapped something since that were lost. */
static void begin_with_one_mapping(uint32_t pid)
{
	struct proc_mapping_event {
		uint64_t start, end, offset;
		char path[256];
		uint64_t inode;
	} first = { 0 };
	char text[512];
	FILE *maps;

	snprintf(text, sizeof(text), "/proc/%u/maps", pid);
	maps = fopen(text, "re");
	assert_non_null(maps);
	while (fgets(text, sizeof(text), maps))
		if (sscanf(text, "%lx-%lx %*2cx%*c %lx %*s %lu %255s", &first.start, &first.end,
			   &first.offset, &first.inode, first.path) == 5)
			break;
	fclose(maps);
	assert_true(first.inode > 0);
	do_fork(1, pid, 10);
	do_mmap(pid, first.start, first.end - first.start, first.offset, first.path, first.inode,
		11);
	test_stream_text(&stream);
}

static void test_an_address_that_nothing_holds_makes_the_maps_be_read_again(void **state)
{
	void *libc = (void *)(uintptr_t)getpid;
	int n;

	begin_with_one_mapping(getpid());
	assert_int_equal(sample(getpid(), (uintptr_t)libc, 20), 1);
	assert_int_not_equal(find_mapping(1, (uintptr_t)libc, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(processes.n_rereads, 1);
	/* And not again at once. */
	assert_int_equal(sample(getpid(), 0x10, 21), 1);
	assert_int_equal(processes.n_rereads, 1);
	check("");
}

static void test_what_is_unmapped_is_told_when_maps_are_read_again(void **state)
{
	const uint64_t size = 0x1000, at = (uintptr_t)mmap(NULL, size, PROT_READ | PROT_EXEC,
							   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char expected[80];

	begin_with_one_mapping(getpid());
	do_mmap(getpid(), at, size, 0, "//anon", 0, 12);
	test_stream_text(&stream);
	assert_int_equal(munmap((void *)(uintptr_t)at, size), 0);
	assert_int_equal(processes_read_again(&processes, getpid(), 20), 0);
	snprintf(expected, sizeof(expected), "mapping 0 of 1 %jx+%jx at 0 of image 0\n",
		 (uintmax_t)at, (uintmax_t)size);
	assert_non_null(strstr(test_stream_text(&stream), expected));
	assert_int_equal(processes_find_mapping(&processes, getpid(), at), 0);
	assert_int_not_equal(processes_find_mapping(&processes, getpid(), our_code()), 0);
	assert_int_equal(processes_read_again(&processes, getpid(), 21), 0);
	check("");
	assert_int_equal(processes_read_again(&processes, PID, 22), -ESRCH);
}

static void test_a_kernel_samples_process_is_not_read_again(void **state)
{
	begin_with_one_mapping(getpid());
	assert_int_equal(sample(getpid(), 0, 20), 1);
	assert_int_equal(processes.n_rereads, 0);
	check("");
}

static void test_maps_that_share_nothing_with_what_was_known_mean_a_missed_exec(void **state)
{
	union wire_view view;

	do_fork(1, getpid(), 10);
	do_mmap(getpid(), 0x1000, 0x1000, 0, "/bin/before", 5, 11);
	test_stream_text(&stream);
	assert_int_equal(sample(getpid(), our_code(), 20), 2);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_process_exit);
	assert_int_equal(view.process_exit.process, 1);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_process);
	assert_int_equal(view.process.process, 2);
	assert_int_equal(view.process.origin, WIRE_origin_FOUND);
}

/*
 * perf gives anonymous memory its address as offset (vm_pgoff), /proc/PID/maps gives it 0: both
 * tell of the same.
 */
static void test_anonymous_memory_is_not_told_again_by_proc(void **state)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uintptr_t)memory;
	int n;

	assert_ptr_not_equal(memory, MAP_FAILED);
	begin_with_one_mapping(getpid());
	do_mmap(getpid(), start, size, start, "//anon", 0, 12);
	assert_int_not_equal(find_mapping(1, start, &n), 0);
	assert_int_equal(sample(getpid(), 0x10, 20), 1);
	assert_int_equal(processes.n_rereads, 1);
	find_mapping(1, start, &n);
	assert_int_equal(n, 0);
	munmap(memory, size);
}

/* A child that ends at once, and is left unreaped; another that waits to be killed. */
static pid_t start_child(bool ends)
{
	siginfo_t info;
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not get to kill it */
		while (!ends)
			pause();
		_exit(0);
	}
	assert_true(pid > 0);
	if (ends)
		assert_int_equal(waitid(P_PID, pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
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

/* A process whose main thread has ended and whose other thread lives on. */
static void *wait_with_a_name(void *ends)
{
	char byte;

	prctl(PR_SET_NAME, "named");
	if (write(((int *)ends)[3], "", 1) == 1 && read(((int *)ends)[0], &byte, 1) < 0)
		return ends;
	return NULL;
}

/* No event tells how threads are called that were there before. */
static void test_threads_that_are_there_already_have_their_names(void **state)
{
	int ends[4]; /* towards the thread, and from it */
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
		syscall(SYS_exit, 0); /* of this thread alone */
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

/* /proc/PID/maps is empty once the leader has gone; another thread's still shows all. */
static void test_a_process_whose_leader_has_gone_shows_its_mappings(void **state)
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

static void test_anonymous_memory_of_a_process_is_one_image(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0x1000, "//anon", 0, 11);
	do_mmap(PID, 0x5000, 0x1000, 0x5000, "//anon", 0, 12);
	do_fork(1, PID + 1, 13);
	do_mmap(PID + 1, 0x7000, 0x1000, 0x7000, "//anon", 0, 14);
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "image 3 anonymous '//anon'\n"
	      "mapping 1 of 1 1000+1000 at 1000 of image 3\n"
	      "mapping 2 of 1 5000+1000 at 5000 of image 3\n"
	      "process 2 pid 5000001 forked of 0 ''\n"
	      "image 4 anonymous '//anon'\n"
	      "mapping 3 of 2 7000+1000 at 7000 of image 4\n");
}

/* What their JIT compilers make from then on is not the same. */
static void test_parent_and_child_do_not_share_anonymous_memory(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0x1000, "//anon", 0, 11);
	do_mmap(PID, 0x3000, 0x1000, 0, "/bin/a", 5, 12);
	do_mmap(PID, 0x5000, 0x1000, 0x5000, "//anon", 0, 13);
	test_stream_text(&stream);
	do_fork(PID, PID + 1, 14);
	check("process 2 pid 5000001 forked of 1 ''\n"
	      "image 5 anonymous '//anon'\n"
	      "mapping 4 of 2 1000+1000 at 1000 of image 5\n"
	      "mapping 5 of 2 5000+1000 at 5000 of image 5\n");
	assert_int_equal(processes_find_mapping(&processes, PID, 0x1000), 1);
	assert_int_equal(processes_find_mapping(&processes, PID + 1, 0x1000), 4);
	assert_int_equal(processes_find_mapping(&processes, PID + 1, 0x3000), 2);
	/* Both know all of theirs, and what is new is of their own image. */
	do_mmap(PID, 0x5000, 0x1000, 0x5000, "//anon", 0, 15);
	do_mmap(PID + 1, 0x5000, 0x1000, 0x5000, "//anon", 0, 15);
	do_mmap(PID + 1, 0x7000, 0x1000, 0x7000, "//anon", 0, 16);
	check("mapping 6 of 2 7000+1000 at 7000 of image 5\n");
	do_fork(PID + 1, PID + 2, 17);
	check("process 3 pid 5000002 forked of 2 ''\n"
	      "image 6 anonymous '//anon'\n"
	      "mapping 7 of 3 1000+1000 at 1000 of image 6\n"
	      "mapping 8 of 3 5000+1000 at 5000 of image 6\n"
	      "mapping 9 of 3 7000+1000 at 7000 of image 6\n");
}

static void test_anonymous_memory_that_has_gone_is_not_inherited(void **state)
{
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0x1000, "//anon", 0, 11);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 12);
	test_stream_text(&stream);
	do_fork(PID, PID + 1, 13);
	check("process 2 pid 5000001 forked of 1 ''\n");
	do_mmap(PID + 1, 0x5000, 0x1000, 0x5000, "//anon", 0, 14);
	check("image 5 anonymous '//anon'\n"
	      "mapping 3 of 2 5000+1000 at 5000 of image 5\n");
}

/* The process of the next map that the image server is to look for; 0: there is none. */
static uint32_t next_map(int server, uint64_t *ret_image)
{
	_Alignas(8) char record[8192];
	struct wire_map_open request;
	ssize_t size = recv(server, record, sizeof(record), MSG_DONTWAIT);

	if (size < 0)
		return 0;
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_map_open), record, size, 0, &request),
			 WIRE_OK);
	*ret_image = request.image;
	return request.pid;
}

static void test_the_image_server_is_told_whose_anonymous_memory_it_is(void **state)
{
	uint64_t image = 0;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	images.server_fd = pair[0];
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0x1000, "//anon", 0, 11);
	do_mmap(PID, 0x5000, 0x1000, 0x5000, "//anon", 0, 12);
	assert_int_equal(next_map(pair[1], &image), PID);
	assert_int_equal(image, 3);
	assert_int_equal(next_map(pair[1], &image), 0);
	do_fork(PID, PID + 1, 13);
	assert_int_equal(next_map(pair[1], &image), PID + 1);
	assert_int_equal(image, 4);
	/* Where /proc shows others by these numbers, it must not look there. */
	processes.proc = proc_view_absent;
	do_fork(PID, PID + 2, 14);
	assert_int_equal(next_map(pair[1], &image), 0);
	close(pair[1]);
}

/* There is no event when memory goes: what a JIT compiler has freed must not fill the table. */
static void test_a_full_table_of_mappings_begins_anew_with_what_is_there(void **state)
{
	pid_t pid = getpid();
	uint64_t i;

	do_fork(1, pid, 10);
	for (i = 0; i < MAPPING_TABLE_MAX; i++)
		do_mmap(pid, (i + 1) * 0x2000, 0x1000, 0, "//anon", 0, 11);
	while (test_stream_next(&stream, &(union wire_view){ 0 }))
		;
	assert_int_equal(processes.n_upids, 2);
	assert_int_equal(test_stream_sum(&stream, "refused"), 0);
	assert_int_equal(sample(pid, our_code(), 20), 2);
	assert_int_equal(processes.n_rereads, 0); /* it was found where the maps were read */
}

static void test_mappings_follow_a_file_that_was_written_to(void **state)
{
	struct wire_image_state found = { 3, WIRE_image_status_OPEN, 0, 0 };
	int pair[2], fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	images.server_fd = pair[0];
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	do_mmap(PID, 0x3000, 0x1000, 0, "/bin/b", 6, 12);
	assert_int_equal(processes_follow_images(&processes, 20), 0);
	test_stream_text(&stream);
	/* As the server opened it, it was another one than this: not of the year 1970. */
	assert_int_equal(image_message_send(pair[1], &found, fd), 0);
	assert_int_equal(images_take_states(&images), 0);
	assert_int_equal(images_check(&images), 0);
	assert_int_equal(processes_follow_images(&processes, 20), 0);
	check("image_state\n"
	      "image 5 file '/bin/a'\n"
	      "mapping 3 of 1 1000+1000 at 0 of image 5\n");
	close(pair[1]);
	close(fd);
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

static void sweep(uint64_t time)
{
	assert_int_equal(processes_sweep(&processes, time), 0);
	test_stream_text(&stream);
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

static void test_a_sweep_asks_for_no_process_of_another_namespace(void **state)
{
	pid_t dead = start_child(true);

	waitpid(dead, NULL, 0);
	do_fork(1, dead, 12);
	processes.proc = proc_view_absent;
	test_stream_text(&stream);
	sweep(PROCESSES_SWEEP_NS);
	assert_false(has_line("exit "));
}

static void test_images_end_some_time_behind_the_last_process_that_had_them(void **state)
{
	pid_t living = start_child(false);
	uint64_t time = PROCESSES_SWEEP_NS;

	begin_with_one_mapping(living);
	test_stream_text(&stream);
	for (; time <= 2 * PROCESSES_IMAGES_LINGER_NS; time += PROCESSES_SWEEP_NS)
		sweep(time);
	assert_false(has_line("image-exit"));
	kill(living, SIGKILL);
	waitpid(living, NULL, 0);
	sweep(time);
	assert_true(has_line("exit 1\n"));
	sweep(time + PROCESSES_IMAGES_LINGER_NS - PROCESSES_SWEEP_NS);
	assert_false(has_line("image-exit"));
	sweep(time + PROCESSES_IMAGES_LINGER_NS + PROCESSES_SWEEP_NS);
	assert_true(has_line("image-exit"));
}

/* All that a process ever maps without a file is one image, though it may have none for a while. */
static void test_an_anonymous_image_does_not_end_before_its_process(void **state)
{
	uint64_t time = PROCESSES_SWEEP_NS;

	processes.proc = proc_view_absent; /* nobody looks whether there is such a process */
	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0x1000, "//anon", 0, 11);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 12);
	test_stream_text(&stream);
	for (; time <= 3 * PROCESSES_IMAGES_LINGER_NS; time += PROCESSES_SWEEP_NS) {
		sweep(time);
		assert_false(has_line("image-exit"));
	}
	do_mmap(PID, 0x5000, 0x1000, 0x5000, "//anon", 0, time);
	check("mapping 3 of 1 5000+1000 at 5000 of image 3\n");
	do_exit(PID, PID, time);
	assert_int_equal(processes_bury(&processes, time + PROCESSES_LINGER_NS), 0);
	for (int i = 0; i < 5; i++, time += PROCESSES_SWEEP_NS)
		sweep(time);
	assert_null(images.by_number);
}

static bool nothing_waits(uint32_t pid, void *arg)
{
	return false;
}

/* A copy of its text may be sampled, and compared with the file, much later. */
static void test_the_image_of_replaced_text_does_not_end_before_its_process(void **state)
{
	pid_t living = start_child(false);
	uint64_t time = PROCESSES_SWEEP_NS;
	struct mapping text;

	processes.proc.is_mapping = nothing_waits;
	begin_with_one_mapping(living);
	text = *mapping_table_next(processes_mappings(&processes, living), 0);
	do_mmap(living, text.start, text.end - text.start, text.start, "//anon", 0, 12);
	test_stream_text(&stream);
	for (; time <= 3 * PROCESSES_IMAGES_LINGER_NS; time += PROCESSES_SWEEP_NS) {
		sweep(time);
		assert_false(has_line("image-exit"));
	}
	kill(living, SIGKILL);
	waitpid(living, NULL, 0);
	for (int i = 0; i < 5; i++, time += PROCESSES_SWEEP_NS)
		sweep(time);
	assert_null(images.by_number);
}

static bool is_news(const void *event)
{
	return processes_is_news(&processes, event);
}

static void test_what_is_known_is_no_news(void **state)
{
	do_fork(1, PID, 10);
	assert_true(is_news(make_mmap(PID, 0x1000, 0x1000, "/bin/a", 5)));
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	assert_false(is_news(make_mmap(PID, 0x9000, 0x1000, "/bin/a", 5)));
	assert_false(is_news(make_mmap(PID, 0x9000, 0x1000, "/bin/a (deleted)", 5)));
	assert_true(is_news(make_mmap(PID, 0x1000, 0x1000, "/bin/a", 6)));
	assert_true(is_news(make_mmap(PID + 1, 0x1000, 0x1000, "/bin/a", 5)));
	check("process 1 pid 5000000 forked of 0 ''\n"
	      "image 3 file '/bin/a'\n"
	      "mapping 1 of 1 1000+1000 at 0 of image 3\n");
}

static void test_another_inode_is_news(void **state)
{
	struct record_mmap2 *mmap2;

	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	mmap2 = make_mmap(PID, 0x1000, 0x1000, "/bin/a", 5);
	mmap2->generation++;
	assert_true(is_news(mmap2));
	mmap2->protection = PROT_READ; /* not ours to look at */
	assert_false(is_news(mmap2));
}

static void test_the_first_anonymous_memory_of_a_process_is_news(void **state)
{
	do_fork(1, PID, 10);
	do_fork(1, PID + 1, 10);
	assert_true(is_news(make_mmap(PID, 0x1000, 0x1000, "//anon", 0)));
	do_mmap(PID, 0x1000, 0x1000, 0, "//anon", 0, 11);
	assert_false(is_news(make_mmap(PID, 0x5000, 0x1000, "//anon", 0)));
	assert_true(is_news(make_mmap(PID + 1, 0x5000, 0x1000, "//anon", 0)));
}

static void test_new_processes_and_programs_are_news(void **state)
{
	struct record_task task = {
		.header = { PERF_RECORD_FORK, 0, sizeof(task) + sizeof(struct record_id) },
		.pid = PID,
		.parent_pid = 1,
	};

	assert_true(is_news(&task));
	task.parent_pid = PID; /* a thread */
	assert_false(is_news(&task));
	task.header.type = PERF_RECORD_EXIT;
	assert_false(is_news(&task));
	assert_true(is_news(make_comm(PID, PID, "b", PERF_RECORD_MISC_COMM_EXEC)));
	assert_false(is_news(make_comm(PID, PID, "b", 0)));
	task.header.size = sizeof(task.header);
	assert_false(is_news(&task));
}

int main(void)
{
#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, set_up_processes, tear_down_processes)
	const struct CMUnitTest tests[] = {
		TEST(test_a_fork_inherits_name_and_mappings),
		TEST(test_an_exec_is_a_new_incarnation_without_mappings),
		TEST(test_an_exec_of_an_unknown_process_is_told),
		TEST(test_a_threads_exit_is_not_its_processs),
		TEST(test_a_process_is_sampled_for_a_while_after_its_exit),
		TEST(test_processes_are_buried_in_the_order_of_their_exits),
		TEST(test_a_pid_used_again_is_not_buried_with_the_one_before),
		TEST(test_a_leader_that_exits_first_leaves_the_process),
		TEST(test_an_exec_ends_all_other_threads),
		TEST(test_a_pid_used_again_is_another_process),
		TEST(test_a_pid_used_again_ends_the_one_whose_exit_was_lost),
		TEST(test_an_exit_of_an_unknown_process_says_nothing),
		TEST(test_threads_are_named_and_the_leader_names_the_process),
		TEST(test_memory_that_is_not_executable_is_passed_over),
		TEST(test_an_impossible_mapping_is_counted),
		TEST(test_the_kernel_is_everybodys),
		TEST(test_a_sample_of_a_process_that_is_gone_gets_a_process_all_the_same),
		TEST(test_a_scan_of_a_process_that_is_gone_says_nothing),
		TEST(test_a_scanned_process_has_its_name_and_mappings),
		TEST(test_events_older_than_what_was_read_are_ignored_and_newer_ones_taken),
		TEST(test_nothing_is_read_of_a_process_that_is_about_to_change),
		TEST(test_a_scan_leaves_out_what_is_about_to_change),
		TEST(test_an_address_that_nothing_holds_makes_the_maps_be_read_again),
		TEST(test_what_is_unmapped_is_told_when_maps_are_read_again),
		TEST(test_a_kernel_samples_process_is_not_read_again),
		TEST(test_maps_that_share_nothing_with_what_was_known_mean_a_missed_exec),
		TEST(test_anonymous_memory_is_not_told_again_by_proc),
		TEST(test_after_a_loss_the_living_stay_and_the_dead_end),
		TEST(test_after_a_loss_a_zombie_is_not_another_process),
		TEST(test_a_process_whose_leader_has_gone_shows_its_mappings),
		TEST(test_threads_that_are_there_already_have_their_names),
		TEST(test_anonymous_memory_of_a_process_is_one_image),
		TEST(test_parent_and_child_do_not_share_anonymous_memory),
		TEST(test_anonymous_memory_that_has_gone_is_not_inherited),
		TEST(test_the_image_server_is_told_whose_anonymous_memory_it_is),
		TEST(test_a_full_table_of_mappings_begins_anew_with_what_is_there),
		TEST(test_mappings_follow_a_file_that_was_written_to),
		TEST(test_many_processes_and_their_ends),
		TEST(test_a_sweep_ends_processes_whose_exit_was_missed),
		TEST(test_a_sweep_asks_for_no_process_of_another_namespace),
		TEST(test_images_end_some_time_behind_the_last_process_that_had_them),
		TEST(test_an_anonymous_image_does_not_end_before_its_process),
		TEST(test_the_image_of_replaced_text_does_not_end_before_its_process),
		TEST(test_what_is_known_is_no_news),
		TEST(test_another_inode_is_news),
		TEST(test_the_first_anonymous_memory_of_a_process_is_news),
		TEST(test_new_processes_and_programs_are_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
