/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Downloads by the real libdebuginfod from a server that the test controls: outcomes of its
 * answers, and what is left in the cache.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <zlib.h>

#include <cmocka.h>

#include "symbolizer/debuginfod/debuginfod-download.h"
#include "symbolizer/debuginfod/test-debuginfod.h"

enum { SKIPPED = 77, SIZE_MAX_TESTED = 1 << 20 };

static const uint8_t build_id[20] = { 0xab, 0xcd };
static struct debuginfod_fetcher fetcher;
static char url[64];
static int listen_fd;

static int listen_somewhere(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);

	listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listen_fd, (void *)&address, size) < 0 || listen(listen_fd, 8) < 0 ||
	    getsockname(listen_fd, (void *)&address, &size) < 0)
		return -1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	return 0;
}

static int set_up(void **state)
{
	setenv("no_proxy", "*", 1);
	setenv("DEBUGINFOD_MAXSIZE", "1048576", 1);
	unsetenv("DEBUGINFOD_MAXTIME");
	if (make_cache() < 0 || listen_somewhere() < 0)
		return -1;
	return debuginfod_fetcher_start(&fetcher, url);
}

static int tear_down(void **state)
{
	debuginfod_fetcher_stop(&fetcher);
	close(listen_fd);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return remove_cache();
}

static void start_again(const char *urls)
{
	debuginfod_fetcher_stop(&fetcher);
	assert_int_equal(debuginfod_fetcher_start(&fetcher, urls), 0);
}

static void ask(void)
{
	assert_int_equal(debuginfod_fetcher_ask(&fetcher, build_id, sizeof(build_id)), 0);
}

static int reported(void)
{
	struct debuginfod_build_id id;

	return await(&fetcher, &id);
}

/* Accepts a connection that requests the right file. */
static int accept_request(void)
{
	char request[4096] = "";
	size_t n = 0;
	int fd;

	assert_true(is_readable(listen_fd));
	fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	while (!strstr(request, "\r\n\r\n")) {
		ssize_t size = recv(fd, request + n, sizeof(request) - 1 - n, 0);

		assert_true(size > 0);
		n += size;
		request[n] = 0;
	}
	assert_memory_equal(request,
			    "GET /buildid/abcd000000000000000000000000000000000000/debuginfo HTTP/",
			    65);
	return fd;
}

/* Sends as much as the peer takes. */
static void reply(int fd, const char *head, const void *body, size_t size)
{
	if (send(fd, head, strlen(head), MSG_NOSIGNAL) > 0 && size > 0)
		send(fd, body, size, MSG_NOSIGNAL);
	close(fd);
}

/* The outcome if every request, including retries, gets this reply. */
static int reported_after(const char *head, const void *body, size_t size)
{
	for (;;) {
		struct pollfd fds[] = { { fetcher.fd, POLLIN, 0 }, { listen_fd, POLLIN, 0 } };

		assert_true(poll(fds, 2, PATIENCE_MS) > 0);
		if (fds[0].revents)
			return reported();
		reply(accept_request(), head, body, size);
	}
}

static void test_a_file_arrives(void **state)
{
	ask();
	assert_int_equal(
		reported_after("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "content", 7),
		DEBUGINFOD_ARRIVED);
	assert_int_equal(cached_size(build_id, sizeof(build_id)), 7);
	assert_int_equal(count_cached(), 1);
}

static void test_a_file_on_no_server_is_not_found(void **state)
{
	ask();
	assert_int_equal(
		reported_after("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "", 0),
		DEBUGINFOD_NOT_FOUND);
}

static void test_a_missing_server_is_unreachable(void **state)
{
	close(listen_fd);
	ask();
	assert_int_equal(reported(), DEBUGINFOD_UNREACHABLE);
	assert_int_equal(count_cached(), 0);
	listen_fd = -1;
}

/* Not cached as "not found", so the next request tries again. */
static void test_a_silent_server_times_out(void **state)
{
	int fd;

	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	start_again(url);
	ask();
	fd = accept_request();
	assert_int_equal(reported(), DEBUGINFOD_TIMEOUT);
	assert_int_equal(count_cached(), 0);
	close(fd);
}

/* The library's own limit, here on 100 KB at a time. */
static void test_a_user_may_set_a_shorter_timeout(void **state)
{
	int fd;

	setenv("DEBUGINFOD_TIMEOUT", "1", 1);
	start_again(url);
	unsetenv("DEBUGINFOD_TIMEOUT");
	ask();
	fd = accept_request();
	assert_int_equal(reported(), DEBUGINFOD_TIMEOUT);
	assert_int_equal(count_cached(), 0);
	close(fd);
}

static void test_an_endless_reply_times_out(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\ncontent";
	int fd;

	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	start_again(url);
	ask();
	fd = accept_request();
	assert_int_equal(send(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
	assert_int_equal(reported(), DEBUGINFOD_TIMEOUT);
	assert_int_equal(count_cached(), 0);
	close(fd);
}

static void test_another_server_may_have_the_file(void **state)
{
	char silent[sizeof(url)], urls[2 * sizeof(url)];
	int silent_fd = listen_fd, fd;

	strcpy(silent, url);
	assert_int_equal(listen_somewhere(), 0);
	snprintf(urls, sizeof(urls), "%s %s", silent, url);
	start_again(urls);
	ask();
	fd = accept_request();
	reply(fd, "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", "content", 7);
	assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
	close(silent_fd);
}

static void test_a_file_announced_as_too_large_is_refused(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\ncontent";
	int fd;

	ask();
	fd = accept_request();
	assert_int_equal(send(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
	assert_int_equal(reported(), DEBUGINFOD_TOO_LARGE);
	assert_int_equal(count_cached(), 0);
	close(fd);
}

static void test_a_server_may_refuse_an_oversized_file(void **state)
{
	ask();
	assert_int_equal(
		reported_after("HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n", "", 0),
		DEBUGINFOD_TOO_LARGE);
	assert_int_equal(count_cached(), 0);
}

static void test_a_file_growing_too_large_is_refused(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\n\r\n", block[65536];
	int fd;

	ask();
	fd = accept_request();
	assert_int_equal(send(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
	while (send(fd, block, sizeof(block), MSG_NOSIGNAL) > 0) /* endless */
		;
	assert_int_equal(reported(), DEBUGINFOD_TOO_LARGE);
	assert_int_equal(count_cached(), 0);
	close(fd);
}

/* HTTP compression of a thousand zeros per byte. */
static void test_a_decompressed_file_has_a_size_limit(void **state)
{
	enum { UNFOLDED = 16 * SIZE_MAX_TESTED };
	char *zeros = calloc(1, UNFOLDED);
	uLongf size = compressBound(UNFOLDED);
	Bytef *packed = malloc(size);

	assert_int_equal(compress(packed, &size, (Bytef *)zeros, UNFOLDED), Z_OK);
	assert_true(size < SIZE_MAX_TESTED / 2);
	ask();
	assert_int_equal(reported_after("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n",
					packed, size),
			 DEBUGINFOD_TOO_LARGE);
	assert_int_equal(count_cached(), 0);
	free(packed);
	free(zeros);
}

static void test_a_stop_leaves_nothing_behind(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncontent";
	int end = watch(fetcher.pid), fd;

	ask();
	fd = accept_request();
	assert_int_equal(send(fd, head, sizeof(head) - 1, 0), sizeof(head) - 1);
	debuginfod_fetcher_stop(&fetcher);
	assert_true(is_readable(end));
	assert_int_equal(count_cached(), 0);
	close(end);
	close(fd);
}

static void test_a_stop_before_an_answer_leaves_nothing_behind(void **state)
{
	int end = watch(fetcher.pid), fd;

	ask();
	fd = accept_request();
	debuginfod_fetcher_stop(&fetcher);
	assert_true(is_readable(end));
	assert_int_equal(count_cached(), 0);
	close(end);
	close(fd);
}

/* A file:// URL blocks the library itself, without calling its progress function. */
static void test_a_library_that_hangs_is_killed(void **state)
{
	char command[256], urls[64];

	snprintf(command, sizeof(command),
		 "mkdir -p %s/served/buildid/abcd000000000000000000000000000000000000 && mkfifo "
		 "%s/served/buildid/abcd000000000000000000000000000000000000/debuginfo",
		 cache, cache);
	assert_int_equal(system(command), 0);
	snprintf(urls, sizeof(urls), "file://%s/served", cache);
	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	start_again(urls);
	ask();
	assert_int_equal(reported(), DEBUGINFOD_TIMEOUT);
}

#define with_server(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_server(test_a_file_arrives),
		with_server(test_a_file_on_no_server_is_not_found),
		with_server(test_a_missing_server_is_unreachable),
		with_server(test_a_silent_server_times_out),
		with_server(test_a_user_may_set_a_shorter_timeout),
		with_server(test_an_endless_reply_times_out),
		with_server(test_another_server_may_have_the_file),
		with_server(test_a_file_announced_as_too_large_is_refused),
		with_server(test_a_server_may_refuse_an_oversized_file),
		with_server(test_a_file_growing_too_large_is_refused),
		with_server(test_a_decompressed_file_has_a_size_limit),
		with_server(test_a_stop_leaves_nothing_behind),
		with_server(test_a_stop_before_an_answer_leaves_nothing_behind),
		with_server(test_a_library_that_hangs_is_killed),
	};
	struct debuginfod_library library;

	if (debuginfod_library_load(&library) < 0) {
		puts("skipped: libdebuginfod.so.1 is missing: install libdebuginfod1");
		return SKIPPED;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
