/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mappings of processes, from hand-made events and from /proc, and how long their images last. PIDs
 * above any pid_max never exist in /proc; where /proc matters, the process is this one or a child.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/image-message.h"
#include "common/source/test-processes.h"

static void test_non_executable_memory_is_skipped(void **state)
{
	_Alignas(8) char record[128] = { 0 };
	struct perf_record_mmap2 *mmap2 = (void *)record;

	do_fork(1, PID, 10);
	test_stream_text(&stream);
	mmap2->header = (struct perf_event_header){ PERF_RECORD_MMAP2, 0, sizeof(record) };
	mmap2->pid = PID;
	mmap2->length = 0x1000;
	mmap2->protection = PROT_READ | PROT_WRITE;
	assert_int_equal(processes_mmap(&processes, mmap2, 11), 0);
	/* Executable, but its path has no terminator within the record. */
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

static void test_kernel_mappings_are_shared_by_all(void **state)
{
	assert_int_equal(processes_add_kernel(&processes, (struct wire_blob){ "", 0 }, 5), 0);
	check("image 1 kernel '[kernel]'\n"
	      "mapping 1 of 0 8000000000000000+7fffffffffffffff at 8000000000000000 of image 1\n");
}

static void test_an_unmapped_address_rereads_the_maps(void **state)
{
	void *libc = (void *)(uintptr_t)getpid;
	int n;

	begin_with_one_mapping(getpid());
	assert_int_equal(sample(getpid(), (uintptr_t)libc, 20), 1);
	assert_int_not_equal(find_mapping(1, (uintptr_t)libc, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(processes.n_rereads, 1);
	/* Not again immediately. */
	assert_int_equal(sample(getpid(), 0x10, 21), 1);
	assert_int_equal(processes.n_rereads, 1);
	check("");
}

static void test_rereading_the_maps_emits_unmappings(void **state)
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

static void test_entirely_new_maps_mean_a_missed_exec(void **state)
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
 * perf reports anonymous memory's address as its offset (vm_pgoff), /proc/PID/maps reports 0; both
 * mean the same mapping.
 */
static void test_anonymous_memory_is_not_emitted_again_by_proc(void **state)
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

/* Their JIT compilers produce different code after the fork. */
static void test_fork_does_not_share_anonymous_images(void **state)
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
	/* Both keep the mappings they have; new ones belong to their own image. */
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

static void test_unmapped_anonymous_memory_is_not_inherited(void **state)
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

/* The process of the next map_open that the image server receives; 0: none. */
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

static void test_the_server_learns_who_owns_anonymous_memory(void **state)
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
	/* Without a /proc of matching PIDs the server must not look. */
	processes.proc = proc_view_absent;
	do_fork(PID, PID + 2, 14);
	assert_int_equal(next_map(pair[1], &image), 0);
	close(pair[1]);
}

/* No event reports munmap(2), so freed JIT code must not fill the table. */
static void test_a_full_mapping_table_restarts_from_proc(void **state)
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
	assert_int_equal(processes.n_rereads, 0); /* found when the maps were read */
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
	/* The report's mtime of 1970 is not this file's, so the file counts as changed. */
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

static void test_images_end_after_their_last_process(void **state)
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

/* All anonymous memory of a process is one image, even if none is mapped for a while. */
static void test_anonymous_images_live_as_long_as_processes(void **state)
{
	uint64_t time = PROCESSES_SWEEP_NS;

	processes.proc = proc_view_absent; /* /proc must not show that the process does not exist */
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
	assert_int_equal(processes_reap(&processes, time + PROCESSES_LINGER_NS), 0);
	for (int i = 0; i < 5; i++, time += PROCESSES_SWEEP_NS)
		sweep(time);
	assert_null(images.by_number);
}

static bool nothing_waits(uint32_t pid, void *arg)
{
	return false;
}

/* A copy of its text may be sampled, and compared with the file, much later. */
static void test_replaced_text_lives_as_long_as_its_process(void **state)
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

static void test_a_known_mapping_is_no_news(void **state)
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
	struct perf_record_mmap2 *mmap2;

	do_fork(1, PID, 10);
	do_mmap(PID, 0x1000, 0x1000, 0, "/bin/a", 5, 11);
	mmap2 = make_mmap(PID, 0x1000, 0x1000, "/bin/a", 5);
	mmap2->generation++;
	assert_true(is_news(mmap2));
	mmap2->protection = PROT_READ; /* not executable, so ignored */
	assert_false(is_news(mmap2));
}

static void test_first_anonymous_mapping_is_news(void **state)
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
	struct perf_record_task task = {
		.header = { PERF_RECORD_FORK, 0, sizeof(task) + sizeof(struct perf_record_id) },
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
		TEST(test_non_executable_memory_is_skipped),
		TEST(test_an_impossible_mapping_is_counted),
		TEST(test_kernel_mappings_are_shared_by_all),
		TEST(test_an_unmapped_address_rereads_the_maps),
		TEST(test_rereading_the_maps_emits_unmappings),
		TEST(test_a_kernel_samples_process_is_not_read_again),
		TEST(test_entirely_new_maps_mean_a_missed_exec),
		TEST(test_anonymous_memory_is_not_emitted_again_by_proc),
		TEST(test_anonymous_memory_of_a_process_is_one_image),
		TEST(test_fork_does_not_share_anonymous_images),
		TEST(test_unmapped_anonymous_memory_is_not_inherited),
		TEST(test_the_server_learns_who_owns_anonymous_memory),
		TEST(test_a_full_mapping_table_restarts_from_proc),
		TEST(test_mappings_follow_a_file_that_was_written_to),
		TEST(test_images_end_after_their_last_process),
		TEST(test_anonymous_images_live_as_long_as_processes),
		TEST(test_replaced_text_lives_as_long_as_its_process),
		TEST(test_a_known_mapping_is_no_news),
		TEST(test_another_inode_is_news),
		TEST(test_first_anonymous_mapping_is_news),
		TEST(test_new_processes_and_programs_are_news),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
