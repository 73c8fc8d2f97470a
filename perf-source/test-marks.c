/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/stage/test-stream.h"
#include "perf-source/marks.h"

static char directory[] = "/tmp/stackpipe-test-XXXXXX";
static char path[64];
static struct marks marks;
static struct test_stream stream;
static struct images images;
static struct processes processes;

static int set_up(void **state)
{
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/marks", directory);
	test_stream_init(&stream);
	images_init(&images, &stream.stage, -1);
	processes_init(&processes, &stream.stage, &images);
	processes.proc = proc_view_absent;
	marks_init(&marks);
	return marks_open(&marks, path);
}

static int tear_down(void **state)
{
	marks_deinit(&marks);
	processes_deinit(&processes);
	images_deinit(&images);
	test_stream_deinit(&stream);
	assert_int_equal(access(path, F_OK), -1);
	return rmdir(directory);
}

static void expect(const char *datagram, const char *name, const char *text, uint64_t duration)
{
	char copy[MARK_SIZE_MAX + 1];
	struct mark mark;

	snprintf(copy, sizeof(copy), "%s", datagram);
	assert_true(marks_parse(copy, &mark));
	assert_string_equal(mark.name, name);
	assert_string_equal(mark.text, text);
	assert_int_equal(mark.duration, duration);
}

static void expect_none(const char *datagram)
{
	char copy[MARK_SIZE_MAX + 1];
	struct mark mark;

	snprintf(copy, sizeof(copy), "%s", datagram);
	assert_false(marks_parse(copy, &mark));
}

static void test_datagrams_are_parsed(void **state)
{
	expect("deploy", "deploy", "", 0);
	expect("deploy\n", "deploy", "", 0);
	expect("deploy\tversion 2", "deploy", "version 2", 0);
	expect("deploy\tversion 2\tof three", "deploy", "version 2\tof three", 0);
	expect("+1500\tquery\tSELECT 1", "query", "SELECT 1", 1500);
	expect("+1500\tquery", "query", "", 1500);
	expect("+fast", "+fast", "", 0);
	expect("0123456789012345678901234567890123456789012345",
	       "012345678901234567890123456789012345678", "", 0);
	expect_none("");
	expect_none("\n");
	expect_none("\tno name");
	expect_none("+12x\tquery");
	expect_none("+-5\tquery");
	expect_none("+99999999999999999999999\tquery");
	expect_none("+5\t");
}

static int connected(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void test_marks_have_their_own_time_and_come_in_order(void **state)
{
	uint64_t before = clock_now(CLOCK_MONOTONIC), last = 0;
	uint64_t ahead = clock_now(CLOCK_REALTIME) - before;
	int fd = connected();
	union wire_view view;
	char text[32];
	uint16_t type;
	int n = 0;

	assert_int_equal(marks_start(&marks, ahead), 0);
	for (int i = 0; i < 100; i++) { /* more than the socket holds */
		int size = snprintf(text, sizeof(text), "mark\t%d", i);

		assert_int_equal(write(fd, text, size), size);
	}
	close(fd);
	marks_stop(&marks);
	assert_int_equal(marks_emit(&marks, &stream.stage, &processes, before - 1000000), 0);
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_int_equal(marks_emit(&marks, &stream.stage, &processes, UINT64_MAX - 1), 0);
	while ((type = test_stream_next(&stream, &view))) {
		if (type != WIRE_RECORD_mark)
			continue;
		snprintf(text, sizeof(text), "%d", n++);
		assert_string_equal(view.mark.text.data, text);
		assert_string_equal(view.mark.name.data, "mark");
		assert_true(view.mark.process != 0);
		assert_true(view.mark.time >= last && view.mark.time + 1000000 >= before &&
			    view.mark.time <= clock_now(CLOCK_MONOTONIC));
		last = view.mark.time;
	}
	assert_int_equal(n, 100);
}

static void test_dropped_marks_are_counted(void **state)
{
	int fd = connected();

	assert_int_equal(marks_start(&marks, 0), 0);
	for (int i = 0; i < MARKS_WAITING_MAX + 7; i++)
		assert_int_equal(write(fd, "x", 1), 1);
	assert_int_equal(write(fd, "", 0), 0);
	close(fd);
	marks_stop(&marks);
	assert_int_equal(marks.n, MARKS_WAITING_MAX);
	assert_int_equal(marks.n_refused, 7);
}

/* Sends a datagram with as many descriptors as the kernel allows (unix(7)). */
static void send_descriptors(int to, int fd)
{
	enum { N = 253 };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(N * sizeof(int))] = { 0 };
	struct iovec part = { "fd\twith", 7 };
	const struct msghdr message = { .msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control) };
	struct cmsghdr *header = (void *)control;

	*header = (struct cmsghdr){ CMSG_LEN(N * sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	for (size_t i = 0; i < N; i++)
		memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &message, 0), 7);
}

/* End of file on the pipe shows that no descriptor of its other end was kept. */
static void test_attached_descriptors_are_closed(void **state)
{
	int fd = connected(), ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(marks_start(&marks, 0), 0);
	for (int i = 0; i < 20; i++)
		send_descriptors(fd, ends[1]);
	close(fd);
	close(ends[1]);
	marks_stop(&marks);
	assert_int_equal(marks.n, 20); /* the marks are kept, with their sender */
	assert_int_equal(marks.waiting[0].pid, getpid());
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static void test_an_existing_path_is_left_alone(void **state)
{
	struct marks others;

	marks_init(&others);
	assert_int_equal(marks_open(&others, path), -EADDRINUSE);
	marks_deinit(&others);
	assert_int_equal(access(path, F_OK), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_datagrams_are_parsed),
		TEST(test_marks_have_their_own_time_and_come_in_order),
		TEST(test_dropped_marks_are_counted),
		TEST(test_attached_descriptors_are_closed),
		TEST(test_an_existing_path_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
