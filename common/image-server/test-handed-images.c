/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image server opens files and perf maps, and hands out what it opened then. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/image-store.h"
#include "common/image-server/test-image-server.h"

/* What perf-source sends for a new process with anonymous memory. */
static void ask_for_map(uint64_t number, pid_t pid)
{
	_Alignas(8) char record[64];
	const struct wire_map_open request = { number, pid };

	assert_true(send(server.fd, record,
			 wire_encode(wire_type(WIRE_RECORD_map_open), &request, record, NULL),
			 MSG_NOSIGNAL) > 0);
}

static void end_image(uint64_t number)
{
	_Alignas(8) char record[64];
	const struct wire_image_exit exit = { number, 0 };

	assert_true(send(server.fd, record,
			 wire_encode(wire_type(WIRE_RECORD_image_exit), &exit, record, NULL),
			 MSG_NOSIGNAL) > 0);
}

static void write_map(const char *file, int flags, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void check_state(struct image_client *client, uint64_t number,
			enum wire_image_status expected)
{
	struct wire_image_state found;
	int fd = -1;

	assert_int_equal(image_client_open(client, number, &found, &fd), 0);
	assert_int_equal(found.image, number);
	assert_int_equal(found.status, expected);
	assert_int_equal(fd, -1);
}

static void test_a_file_removed_later_is_served(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	reported();
	unlink(path);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
}

static void test_a_file_written_later_is_gone(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd;

	ask(3, path);
	reported();
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, "more", 4), 4);
	close(fd);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
		assert_int_equal(found.status, WIRE_image_status_GONE);
		assert_int_equal(fd, -1);
	}
	ask(4, path); /* as it is now */
	assert_int_equal(image_client_open(&client, 4, &found, &fd), 0);
	check_content(fd, "contentmore");
	image_client_deinit(&client);
}

/* Same size and mtime. The file is also unlinked, which alone is no change. */
static void test_a_write_with_restored_mtime_is_noticed(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	struct stat status;
	int fd;

	ask(3, path);
	reported();
	stat(path, &status);
	const struct timespec times[] = { status.st_atim, status.st_mtim };
	write_map(path, 0, "CONTENT");
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	ask_instead(4, path, 3);
	assert_int_equal(reported().image, 4);
	unlink(path);
	check_state(&client, 3, WIRE_image_status_GONE);
	assert_int_equal(image_client_open(&client, 4, &found, &fd), 0);
	assert_true(found.changed > found.modified);
	check_content(fd, "CONTENT");
	image_client_deinit(&client);
}

static void test_an_unknown_image_is_reported_unknown(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	assert_int_equal(image_client_open(&client, 99, &found, &fd), 0);
	assert_int_equal(found.image, 99);
	assert_int_equal(found.status, WIRE_image_status_UNKNOWN);
	assert_int_equal(fd, -1);
	image_client_deinit(&client);
}

static void test_failed_opens_are_reported_with_a_reason(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, "/nowhere");
	assert_int_equal(reported().status, WIRE_image_status_GONE);
	ask(4, dir);
	assert_int_equal(reported().status, WIRE_image_status_REFUSED);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_GONE);
	assert_int_equal(fd, -1);
	assert_int_equal(image_client_open(&client, 4, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_REFUSED);
	assert_int_equal(fd, -1);
	image_client_deinit(&client);
}

static void test_a_number_is_opened_once(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	ask(3, "/nowhere");
	assert_int_equal(reported().status, WIRE_image_status_OPEN);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	assert_int_equal(recv(server.fd, &found, sizeof(found), MSG_DONTWAIT), -1);
	image_client_deinit(&client);
}

/* Each image is requested before it is opened; the answer waits for the opener threads. */
static void test_an_early_request_is_answered(void **state)
{
	struct image_client client = join();

	for (uint64_t number = 3; number < 500; number++) {
		struct wire_image_state found;
		int fd = -1;

		ask(number, path);
		assert_int_equal(image_client_open(&client, number, &found, &fd), 0);
		assert_int_equal(found.image, number);
		check_content(fd, "content");
		assert_int_equal(reported().image, number);
	}
	image_client_deinit(&client);
}

/* perf-source may be too busy to read for a long time; every state arrives in the end. */
static void test_a_busy_source_is_reported_later(void **state)
{
	enum { N = 4000 };
	struct image_client client = join();
	static bool seen[N];
	struct wire_image_state found;
	int fd = -1;

	for (uint64_t number = 1; number < N; number++)
		ask(number, number % 2 ? path : "/nowhere");
	assert_int_equal(image_client_open(&client, N - 1, &found, &fd), 0);
	assert_int_equal(found.image, N - 1);
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	check_content(fd, "content");
	for (uint64_t i = 1; i < N; i++) {
		found = reported();
		assert_true(found.image < N);
		assert_false(seen[found.image]);
		seen[found.image] = true;
		assert_int_equal(found.status,
				 found.image % 2 ? WIRE_image_status_OPEN : WIRE_image_status_GONE);
	}
	image_client_deinit(&client);
}

static void test_an_ended_image_is_unknown(void **state)
{
	struct image_client client = join();

	ask(5, path);
	assert_int_equal(reported().status, WIRE_image_status_OPEN);
	end_image(5);
	check_state(&client, 5, WIRE_image_status_UNKNOWN);
	image_client_deinit(&client);
}

static void check_map(struct image_client *client, uint64_t number, const char *content)
{
	struct wire_image_state found;
	int fd = -1;

	assert_int_equal(image_client_open(client, number, &found, &fd), 0);
	assert_int_equal(found.image, number);
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	check_content(fd, content);
}

/* Each request looks for the map until it exists; it may grow afterwards. */
static void test_a_perf_map_is_served_once_it_exists(void **state)
{
	struct image_client client = join();

	ask_for_map(7, getpid());
	check_state(&client, 7, WIRE_image_status_GONE);
	check_state(&client, 7, WIRE_image_status_GONE);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	check_map(&client, 7, "1000 10 one\n");
	write_map(map_path, O_APPEND, "2000 10 two\n");
	check_map(&client, 7, "1000 10 one\n2000 10 two\n");
	unlink(map_path);
	check_map(&client, 7, "1000 10 one\n2000 10 two\n");
	image_client_deinit(&client);
}

static void test_maps_are_not_reported_to_perf_source(void **state)
{
	struct image_client client = join();

	write_map(map_path, O_CREAT, "1000 10 one\n");
	ask_for_map(7, getpid());
	ask_for_map(8, 1 << 30);
	check_map(&client, 7, "1000 10 one\n");
	check_state(&client, 8, WIRE_image_status_GONE);
	ask(9, path);
	assert_int_equal(reported().image, 9);
	image_client_deinit(&client);
}

static void test_the_map_of_a_dead_process_is_served(void **state)
{
	struct image_client client = join();
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* in case the test fails before kill(2) */
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", pid);
	ask_for_map(7, pid);
	check_state(&client, 7, WIRE_image_status_GONE);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	check_state(&client, 7, WIRE_image_status_GONE);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	check_map(&client, 7, "1000 10 one\n");
	image_client_deinit(&client);
}

static void test_special_files_are_refused_without_delay(void **state)
{
	struct image_client client = join();

	ask_for_map(7, getpid());
	check_state(&client, 7, WIRE_image_status_GONE); /* nothing exists there yet */
	assert_int_equal(mkfifo(map_path, 0666), 0);
	check_state(&client, 7, WIRE_image_status_REFUSED);
	unlink(map_path);
	assert_int_equal(symlink(path, map_path), 0);
	check_state(&client, 7, WIRE_image_status_REFUSED);
	unlink(map_path);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	assert_int_equal(truncate(map_path, 2LL << 30), 0);
	check_state(&client, 7, WIRE_image_status_REFUSED);
	assert_int_equal(truncate(map_path, 12), 0);
	check_map(&client, 7, "1000 10 one\n");
	image_client_deinit(&client);
}

/* The number of open descriptors of the server. */
static size_t count_descriptors(void)
{
	char name[64];
	struct dirent *entry;
	size_t n = 0;
	DIR *list;

	snprintf(name, sizeof(name), "/proc/%d/fd", server.pid);
	list = opendir(name);
	assert_non_null(list);
	while ((entry = readdir(list)))
		n += entry->d_name[0] != '.';
	closedir(list);
	return n;
}

static void test_forgetting_an_image_forgets_its_map(void **state)
{
	struct image_client client = join();
	size_t before;

	check_state(&client, 6, WIRE_image_status_UNKNOWN);
	before = count_descriptors();
	ask_for_map(7, getpid());
	check_state(&client, 7, WIRE_image_status_GONE);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	check_map(&client, 7, "1000 10 one\n");
	assert_int_equal(count_descriptors(), before + 2);
	end_image(7);
	check_state(&client, 7, WIRE_image_status_UNKNOWN);
	assert_int_equal(count_descriptors(), before);
	image_client_deinit(&client);
}

/* The server holds at most IMAGE_STORE_ROOTS_MAX root directories. */
static void test_many_processes_leave_descriptors_for_others(void **state)
{
	enum { MORE = IMAGE_STORE_ROOTS_MAX + 10 };
	struct image_client client = join();
	size_t before;

	check_state(&client, MORE + 1, WIRE_image_status_UNKNOWN);
	before = count_descriptors();
	for (uint64_t number = 1; number <= MORE; number++) {
		ask_for_map(number, getpid());
		check_state(&client, number, WIRE_image_status_GONE);
	}
	assert_true(count_descriptors() <= before + IMAGE_STORE_ROOTS_MAX);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	check_state(&client, 1, WIRE_image_status_REFUSED);
	check_map(&client, MORE, "1000 10 one\n");
	image_client_deinit(&client);
}

/*
 * Short of descriptors the server closes the least recently used file and reopens it on request;
 * changed content is another image.
 */
static void test_few_descriptors_serve_many_images(void **state)
{
	enum { FILES = 300, CHANGED = 3, REMOVED = 4 };
	struct rlimit kept, few = { 300, 300 };
	struct wire_image_state found;
	struct image_client client;
	char file[128];
	int fd = -1;

	close(server.fd);
	server.fd = -1;
	image_server_wait(&server, never);
	getrlimit(RLIMIT_NOFILE, &kept);
	few.rlim_max = few.rlim_cur;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(image_server_start(&server), 0);
	hello.token_high = server.token_high;
	hello.token_low = server.token_low;
	snprintf(hello.image_server, sizeof(hello.image_server), "%s", server.address);
	for (int i = 1; i <= FILES; i++) {
		FILE *out;

		snprintf(file, sizeof(file), "%s%d", path, i);
		out = fopen(file, "we");
		fprintf(out, "content %d", i);
		fclose(out);
		ask(i, file);
		assert_int_equal(reported().status, WIRE_image_status_OPEN);
	}
	client = join();
	for (int i = 1; i <= FILES; i++) {
		if (i == CHANGED || i == REMOVED)
			continue;
		snprintf(file, sizeof(file), "content %d", i);
		assert_int_equal(image_client_open(&client, i, &found, &fd), 0);
		assert_int_equal(found.status, WIRE_image_status_OPEN);
		check_content(fd, file);
	}
	/* The server closed both files long ago. */
	snprintf(file, sizeof(file), "%s%d", path, REMOVED);
	unlink(file);
	assert_int_equal(image_client_open(&client, REMOVED, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_GONE);
	assert_int_equal(fd, -1);
	snprintf(file, sizeof(file), "%s%d", path, CHANGED);
	assert_int_equal(truncate(file, 4), 0); /* same inode, other content */
	assert_int_equal(image_client_open(&client, CHANGED, &found, &fd), 0);
	for (int i = 1; i <= FILES; i++) {
		snprintf(file, sizeof(file), "%s%d", path, i);
		unlink(file);
	}
	image_client_deinit(&client);
	setrlimit(RLIMIT_NOFILE, &kept); /* root only; nothing below needs more */
	if (fd >= 0)
		close(fd);
	assert_int_equal(fd, -1);
	assert_int_not_equal(found.status, WIRE_image_status_OPEN);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_file_removed_later_is_served),
		TEST(test_a_file_written_later_is_gone),
		TEST(test_a_write_with_restored_mtime_is_noticed),
		TEST(test_an_unknown_image_is_reported_unknown),
		TEST(test_failed_opens_are_reported_with_a_reason),
		TEST(test_a_number_is_opened_once),
		TEST(test_an_early_request_is_answered),
		TEST(test_a_busy_source_is_reported_later),
		TEST(test_an_ended_image_is_unknown),
		TEST(test_a_perf_map_is_served_once_it_exists),
		TEST(test_maps_are_not_reported_to_perf_source),
		TEST(test_the_map_of_a_dead_process_is_served),
		TEST(test_special_files_are_refused_without_delay),
		TEST(test_forgetting_an_image_forgets_its_map),
		TEST(test_many_processes_leave_descriptors_for_others),
		TEST(test_few_descriptors_serve_many_images),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
