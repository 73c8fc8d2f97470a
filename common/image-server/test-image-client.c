/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/image-client.h"
#include "common/image-server/test-image-listener.h"

/* A server that sends its answers before the requests. */
static void start(struct test_door *server, struct image_client *client)
{
	test_door_open(server, 1);
	test_door_begin(server);
	assert_int_equal(image_client_init(client, &server->hello), 0);
	test_door_end(server);
	assert_true(client->fd >= 0);
	assert_true(server->fd >= 0);
}

static void stop_server(struct test_door *server, struct image_client *client)
{
	image_client_deinit(client);
	test_door_close(server);
}

static void answer(struct test_door *server, const void *data, size_t size, const int *fds,
		   size_t n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec part = { (void *)data, size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n) {
		struct cmsghdr *header = (void *)control;

		*header = (struct cmsghdr){ CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
		memcpy(CMSG_DATA(header), fds, n * sizeof(int));
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(n * sizeof(int));
	}
	assert_int_equal(sendmsg(server->fd, &message, MSG_NOSIGNAL), size);
}

static size_t encode_state(uint32_t status, char *ret)
{
	struct wire_image_state state = { 5, status, 100, 200 };

	return wire_encode(wire_type(WIRE_RECORD_image_state), &state, ret, NULL);
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void test_without_a_server_there_is_no_connection(void **state)
{
	struct wire_hello hello = { 0 };
	struct image_client client;
	struct wire_image_state found;
	int fd;

	assert_int_equal(image_client_init(&client, &hello), 0);
	assert_int_equal(client.fd, -1);
	assert_int_equal(image_client_open(&client, 1, &found, &fd), -ENOTCONN);
	snprintf(hello.image_server, sizeof(hello.image_server), "stackpipe-nobody-listens");
	assert_int_equal(image_client_init(&client, &hello), 0);
	assert_int_equal(client.fd, -1);
	memset(hello.image_server, 'x', sizeof(hello.image_server) - 1);
	assert_int_equal(image_client_init(&client, &hello), 0);
	assert_int_equal(client.fd, -1);
	image_client_deinit(&client);
}

static void test_the_request_carries_the_number_and_no_key(void **state)
{
	_Alignas(8) char record[128];
	struct wire_image_request request;
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	struct stat ours, theirs;
	ssize_t size;

	start(&server, &client);
	answer(&server, record, encode_state(WIRE_image_status_OPEN, record), &file, 1);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	assert_int_equal(found.size, 100);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	fstat(file, &ours);
	fstat(fd, &theirs);
	assert_int_equal(ours.st_ino, theirs.st_ino);
	size = recv(server.fd, record, sizeof(record), 0);
	assert_int_equal(
		wire_decode(wire_type(WIRE_RECORD_image_request), record, size, 0, &request),
		WIRE_OK);
	assert_int_equal(request.image, 5);
	assert_int_equal(request.token_high | request.token_low, 0); /* the key is never sent */
	close(fd);
	close(file);
	stop_server(&server, &client);
}

static void test_an_answer_without_descriptor_gives_none(void **state)
{
	_Alignas(8) char record[128];
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;
	int fd = 99;

	start(&server, &client);
	answer(&server, record, encode_state(WIRE_image_status_GONE, record), NULL, 0);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_GONE);
	assert_int_equal(fd, -1);
	stop_server(&server, &client);
}

/* The file may exist, so the client must ask again. */
static void test_a_slow_debug_file_is_not_known_yet(void **state)
{
	_Alignas(8) char record[128];
	struct image_client client;
	struct test_door server;
	int fd = 99;

	start(&server, &client);
	answer(&server, record, encode_state(WIRE_image_status_SLOW, record), NULL, 0);
	assert_int_equal(image_client_open_debug(&client, 5, (void *)"12", 2, &fd), -EAGAIN);
	answer(&server, record, encode_state(WIRE_image_status_GONE, record), NULL, 0);
	assert_int_equal(image_client_open_debug(&client, 5, (void *)"12", 2, &fd), -ENOENT);
	assert_int_equal(fd, -1);
	stop_server(&server, &client);
}

static void test_a_closed_server_gets_no_more_requests(void **state)
{
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;
	int fd;

	start(&server, &client);
	shutdown(server.fd, SHUT_RDWR);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), -ENOTCONN);
	assert_int_equal(client.fd, -1);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), -ENOTCONN);
	stop_server(&server, &client);
}

/* Requests time out, and a late answer is not taken for the next request's. */
static void test_a_late_answer_is_discarded(void **state)
{
	_Alignas(8) char record[128];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd, before = count_descriptors();
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;

	start(&server, &client);
	assert_int_equal(image_client_open(&client, 4, &found, &fd), -EAGAIN);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), -EAGAIN);
	assert_int_equal(fd, -1);
	answer(&server, record, encode_state(WIRE_image_status_OPEN, record), &file, 1);
	answer(&server, record, encode_state(WIRE_image_status_GONE, record), NULL, 0);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_GONE);
	assert_int_equal(fd, -1);
	stop_server(&server, &client);
	assert_int_equal(count_descriptors(), before);
	close(file);
}

/* `hello` is untrusted: any process may answer. Garbage ends the connection without leaks. */
static void test_a_garbled_answer_leaves_no_descriptor(void **state)
{
	_Alignas(8) char record[128];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd, before = count_descriptors();
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;
	size_t size;

	for (size_t cut = 1; cut <= 8; cut++) {
		start(&server, &client);
		size = encode_state(WIRE_image_status_OPEN, record);
		answer(&server, record, size - cut, &file, 1);
		assert_int_equal(image_client_open(&client, 5, &found, &fd), -ENOTCONN);
		stop_server(&server, &client);
	}
	assert_int_equal(count_descriptors(), before);
	close(file);
}

static void test_only_one_descriptor_is_taken(void **state)
{
	_Alignas(8) char record[128];
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd, before = count_descriptors();
	int both[2] = { file, file };
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;

	start(&server, &client);
	answer(&server, record, encode_state(WIRE_image_status_OPEN, record), both, 2);
	if (image_client_open(&client, 5, &found, &fd) == 0 && fd >= 0)
		close(fd);
	stop_server(&server, &client);
	assert_int_equal(count_descriptors(), before);
	close(file);
}

/* Only regular files open for reading are accepted. */
static void test_other_descriptors_are_not_taken(void **state)
{
	_Alignas(8) char record[128];
	int before = count_descriptors(), file = open("/dev/null", O_RDONLY | O_CLOEXEC), fd;
	int writable = memfd_create("writable", MFD_CLOEXEC), ends[2];
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	const int others[] = { file, writable, ends[0], ends[1] };

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		start(&server, &client);
		answer(&server, record, encode_state(WIRE_image_status_OPEN, record), &others[i],
		       1);
		assert_int_equal(image_client_open(&client, 5, &found, &fd), -ENOTCONN);
		assert_int_equal(fd, -1);
		stop_server(&server, &client);
		close(others[i]);
	}
	assert_int_equal(count_descriptors(), before);
}

/* An empty message looks like end of file, but carries a descriptor. */
static void test_an_empty_message_leaves_no_descriptor(void **state)
{
	int before = count_descriptors(), file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;
	struct wire_image_state found;
	struct image_client client;
	struct test_door server;

	start(&server, &client);
	answer(&server, "", 0, &file, 1);
	assert_int_equal(image_client_open(&client, 5, &found, &fd), -ENOTCONN);
	stop_server(&server, &client);
	close(file);
	assert_int_equal(count_descriptors(), before);
}

/* image_open_recorded() */
static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64];
static struct wire_image record;

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	return 0;
}

static int tear_down(void **state)
{
	unlink(path);
	return rmdir(dir);
}

/* Writes a ten-byte file; returns what the image server would have reported. */
static struct wire_image_state make_file(void)
{
	struct wire_image_state recorded = { .status = WIRE_image_status_OPEN };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct stat status;

	assert_int_equal(write(fd, "0123456789", 10), 10);
	fstat(fd, &status);
	close(fd);
	record = (struct wire_image){
		.device_major = major(status.st_dev),
		.device_minor = minor(status.st_dev),
		.inode = status.st_ino,
		.path = wire_string(path, 4096),
	};
	recorded.size = status.st_size;
	recorded.modified = clock_nanoseconds(status.st_mtim);
	recorded.changed = clock_nanoseconds(status.st_ctim);
	return recorded;
}

static int open_at(const char *other, const struct wire_image_state *recorded, int *ret_fd)
{
	struct wire_image moved = record;

	moved.path = wire_string(other, 4096);
	return image_open_recorded(&moved, recorded, ret_fd);
}

static void test_the_recorded_file_is_opened_if_it_is_the_same(void **state)
{
	struct wire_image_state recorded = make_file();
	char bytes[10];
	int fd = -1;

	assert_int_equal(image_open_recorded(&record, &recorded, &fd), 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(read(fd, bytes, sizeof(bytes)), 10);
	close(fd);
}

static void test_another_size_or_time_is_another_file(void **state)
{
	struct wire_image_state recorded = make_file();
	int fd = -1;

	recorded.size++;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	recorded.size--;
	recorded.modified++;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	recorded.modified--;
	recorded.changed++;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	recorded.changed--;
	record.inode++;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	record.inode--;
	record.device_minor++;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	assert_int_equal(fd, -1);
}

/* Same path, size and mtime: overwritten, or another file put in its place. */
static void test_a_lookalike_file_is_not_the_recorded_one(void **state)
{
	struct wire_image_state recorded = make_file();
	const struct timespec times[] = { { 0, UTIME_OMIT },
					  { recorded.modified / NANOSECONDS_A_SECOND,
					    recorded.modified % NANOSECONDS_A_SECOND } };
	char other[80];
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, "9876543210", 10, 0), 10);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	fd = -1;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	recorded.changed = 0; /* before stream version 1.9: the change goes unnoticed */
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), 0);
	close(fd);
	fd = -1;
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	make_file();
	record.inode = recorded.image; /* any other inode number */
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	unlink(other);
}

static void test_files_the_server_never_opened_stay_closed(void **state)
{
	struct wire_image_state recorded = make_file();
	int fd = -1;

	for (uint32_t status = 0; status < 9; status++) {
		if (status == WIRE_image_status_OPEN)
			continue;
		recorded.status = status;
		assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	}
	assert_int_equal(fd, -1);
}

static void test_a_relative_path_is_not_opened(void **state)
{
	struct wire_image_state recorded = make_file();
	char here[4096];
	int fd = -1;

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(dir), 0);
	assert_int_equal(open_at("file", &recorded, &fd), -ESTALE);
	assert_int_equal(open_at("", &recorded, &fd), -ESTALE);
	assert_int_equal(open_at("[vdso]", &recorded, &fd), -ESTALE);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(fd, -1);
}

static void test_only_regular_files_are_opened_without_waiting(void **state)
{
	struct wire_image_state recorded = { .status = WIRE_image_status_OPEN };
	struct stat status;
	int fd = -1;

	assert_int_equal(mkfifo(path, 0600), 0);
	stat(path, &status);
	recorded.modified = status.st_mtim.tv_sec * NANOSECONDS_A_SECOND + status.st_mtim.tv_nsec;
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ESTALE);
	stat(dir, &status);
	recorded.size = status.st_size;
	recorded.modified = status.st_mtim.tv_sec * NANOSECONDS_A_SECOND + status.st_mtim.tv_nsec;
	assert_int_equal(open_at(dir, &recorded, &fd), -ESTALE);
	unlink(path);
	assert_int_equal(image_open_recorded(&record, &recorded, &fd), -ENOENT);
	assert_int_equal(fd, -1);
}

/* Before the image server's report is in the stream, inode and ctime decide. */
static void test_unconfirmed_files_must_predate_the_recording(void **state)
{
	struct image_client client = { .fd = -1 };
	struct stat status;
	uint64_t changed;
	int fd = -1;

	make_file();
	stat(path, &status);
	changed = status.st_ctim.tv_sec * NANOSECONDS_A_SECOND + status.st_ctim.tv_nsec;
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE); /* time unknown */
	client.recorded_at = changed;
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE);
	client.recorded_at = changed + 1;
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), 0);
	close(fd);
	fd = -1;
	record.inode++;
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE);
	record.inode--;
	record.device_major++;
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE);
	record.device_major--;
	record.path = wire_string("file", 4096);
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE);
	record.path = wire_string(dir, 4096);
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ESTALE);
	unlink(path);
	record.path = wire_string(path, 4096);
	assert_int_equal(image_open_unconfirmed(&client, &record, &fd), -ENOENT);
	assert_int_equal(fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_server_there_is_no_connection),
		cmocka_unit_test(test_the_request_carries_the_number_and_no_key),
		cmocka_unit_test(test_an_answer_without_descriptor_gives_none),
		cmocka_unit_test(test_a_slow_debug_file_is_not_known_yet),
		cmocka_unit_test(test_a_closed_server_gets_no_more_requests),
		cmocka_unit_test(test_a_late_answer_is_discarded),
		cmocka_unit_test(test_a_garbled_answer_leaves_no_descriptor),
		cmocka_unit_test(test_only_one_descriptor_is_taken),
		cmocka_unit_test(test_other_descriptors_are_not_taken),
		cmocka_unit_test(test_an_empty_message_leaves_no_descriptor),
		cmocka_unit_test_setup_teardown(test_the_recorded_file_is_opened_if_it_is_the_same,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_another_size_or_time_is_another_file, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_lookalike_file_is_not_the_recorded_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_files_the_server_never_opened_stay_closed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_relative_path_is_not_opened, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_only_regular_files_are_opened_without_waiting,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_unconfirmed_files_must_predate_the_recording,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
