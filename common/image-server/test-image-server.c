/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Image server: clients with a key, with a wrong key and with garbage; when it exits. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/image-peers.h"
#include "common/image-server/test-image-server.h"

static void test_a_client_with_the_key_gets_the_file(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	found = reported();
	assert_int_equal(found.image, 3);
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	assert_int_equal(found.size, 7);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
		assert_int_equal(found.image, 3);
		assert_int_equal(found.status, WIRE_image_status_OPEN);
		assert_int_equal(found.size, 7);
		check_content(fd, "content");
	}
	image_client_deinit(&client);
}

/* Requests need a proof, and a wrong key yields none. */
static void test_a_client_with_another_key_gets_nothing(void **state)
{
	struct wire_hello other = hello;
	struct image_client client;

	ask(3, path);
	reported();
	other.token_low ^= 1;
	assert_int_equal(image_client_init(&client, &other), 0);
	assert_int_equal(client.fd, -1);
	assert_true(client.was_refused); /* a server with another key answered */
	other.token_low ^= 1;
	other.token_high ^= 1ULL << 63;
	assert_int_equal(image_client_init(&client, &other), 0);
	assert_int_equal(client.fd, -1);
}

/* Connects and sends nothing. */
static int stand_there(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path + 1, hello.image_server);
	assert_int_equal(
		connect(fd, (void *)&address,
			offsetof(struct sockaddr_un, sun_path) + 1 + strlen(hello.image_server)),
		0);
	return fd;
}

static uint64_t count(const char *name)
{
	struct counters counters = { 0 };
	uint64_t n;

	image_server_count(&server, &counters);
	n = *counters_get(&counters, "image-server", name);
	counters_deinit(&counters);
	return n;
}

static void test_clients_beyond_the_limit_are_refused(void **state)
{
	struct image_client clients[IMAGE_SERVER_CLIENTS_MAX], more;
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	reported();
	for (size_t i = 0; i < IMAGE_SERVER_CLIENTS_MAX; i++) {
		clients[i] = join();
		assert_int_equal(image_client_open(&clients[i], 3, &found, &fd), 0);
		check_content(fd, "content");
	}
	assert_int_equal(image_client_init(&more, &hello), 0);
	assert_int_equal(more.fd, -1);
	assert_true(count("turned-away") > 0);
	for (size_t i = 0; i < IMAGE_SERVER_CLIENTS_MAX; i += 2) /* every second client leaves */
		image_client_deinit(&clients[i]);
	for (size_t i = 1; i < IMAGE_SERVER_CLIENTS_MAX; i += 2) {
		assert_int_equal(image_client_open(&clients[i], 3, &found, &fd), 0);
		check_content(fd, "content");
		image_client_deinit(&clients[i]);
	}
}

/* Strangers fill the table and the backlog; a client with the key still gets in. */
static void test_strangers_do_not_keep_clients_out(void **state)
{
	enum { STRANGERS = 2 * IMAGE_SERVER_CLIENTS_MAX };
	int fds[STRANGERS], fd = -1;
	struct wire_image_state found;
	struct image_client client;
	char byte;

	ask(3, path);
	reported();
	for (size_t i = 0; i < STRANGERS; i++)
		fds[i] = stand_there();
	client = join();
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	assert_true(count("crowded-out") >= STRANGERS - IMAGE_STRANGERS_OF_USER_MAX);
	for (size_t i = 0; i < STRANGERS; i++) { /* all are dropped, the last for silence */
		assert_int_equal(poll(&(struct pollfd){ fds[i], POLLIN, 0 }, 1, PATIENCE_MS), 1);
		assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
		close(fds[i]);
	}
	assert_true(count("silent") > 0);
	image_client_deinit(&client);
}

static void expect_to_be_refused(int fd, const void *record, size_t size)
{
	char byte;

	assert_int_equal(send(fd, record, size, MSG_NOSIGNAL), size);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

/* A request without a proof, and the server's own proof sent back. */
static void test_a_client_without_proof_gets_nothing(void **state)
{
	_Alignas(8) char record[256];
	const struct wire_image_request request = { hello.token_high, hello.token_low, 3 };
	const uint8_t nonce[IMAGE_NONCE_SIZE] = { 1 };
	const struct wire_image_challenge challenge = { { nonce, sizeof(nonce) } };
	ssize_t size;
	int fd;

	ask(3, path);
	reported();
	size = wire_encode(wire_type(WIRE_RECORD_image_request), &request, record, NULL);
	expect_to_be_refused(stand_there(), record, size);
	fd = stand_there();
	size = wire_encode(wire_type(WIRE_RECORD_image_challenge), &challenge, record, NULL);
	assert_int_equal(send(fd, record, size, MSG_NOSIGNAL), size);
	size = recv(fd, record, sizeof(record), 0);
	assert_true(size > 0);
	expect_to_be_refused(fd, record, size);
	assert_int_equal(count("without-key"), 2);
}

/* The server must close descriptors that a stranger's message carries. */
static void test_descriptors_of_strangers_are_not_kept(void **state)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { "x", 1 };
	const struct msghdr message = { .msg_iov = &part,
					.msg_iovlen = 1,
					.msg_control = control,
					.msg_controllen = sizeof(control) };
	struct cmsghdr *header = (void *)control;
	int fd = stand_there(), ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	*header = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(header), &ends[1], sizeof(int));
	assert_int_equal(sendmsg(fd, &message, MSG_NOSIGNAL), 1);
	close(ends[1]);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	assert_int_equal(count("without-key"), 1);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
	close(fd);
}

static void test_garbage_ends_only_its_client(void **state)
{
	static const char garbage[4096] = { 0x55 };
	static const size_t sizes[] = { 1, 7, 8, 32, 127, 128, 129, 4096 };
	struct image_client good = join();
	struct wire_image_state found;
	int fd = -1;
	char byte;

	ask(3, path);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct image_client bad = join();

		assert_int_equal(send(bad.fd, garbage, sizes[i], 0), sizes[i]);
		assert_int_equal(recv(bad.fd, &byte, 1, 0), 0);
		image_client_deinit(&bad);
		assert_int_equal(send(server.fd, garbage, sizes[i], 0), sizes[i]);
	}
	assert_int_equal(image_client_open(&good, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&good);
}

/* This client sends requests and never reads; other clients must not wait for it. */
static void test_a_client_that_never_reads_delays_no_other(void **state)
{
	_Alignas(8) char record[128];
	struct wire_image_request request = { .image = 3 };
	size_t size = wire_encode(wire_type(WIRE_RECORD_image_request), &request, record, NULL);
	struct image_client rude = join(), good = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	reported();
	for (int i = 0; i < 100000; i++)
		if (send(rude.fd, record, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			break;
	assert_int_equal(image_client_open(&good, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&rude);
	image_client_deinit(&good);
}

static void test_the_server_exits_after_source_and_clients(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	siginfo_t end;
	int fd = -1;

	ask(3, path);
	reported();
	close(server.end_fd);
	close(server.fd);
	server.fd = -1;
	/* After perf-source has closed, clients that drain the stream are still served. */
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
	assert_true(ends());
	assert_int_equal(waitid(P_PID, server.pid, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(end.si_code, CLD_EXITED);
	assert_int_equal(end.si_status, 0);
}

static void test_the_server_exits_without_clients(void **state)
{
	ask(3, path);
	close(server.end_fd);
	close(server.fd);
	server.fd = -1;
	assert_true(ends());
}

static void test_waiting_for_the_server_ends(void **state)
{
	close(server.fd);
	server.fd = -1;
	image_server_wait(&server, never);
	image_server_wait(&server, never);		  /* nothing to wait for */
	assert_int_equal(image_server_start(&server), 0); /* for the tear-down */
}

/* The server must not hold inherited descriptors open, least of all standard output. */
static void test_no_inherited_descriptor_is_kept(void **state)
{
	struct wire_image_state found;
	struct stat ours, theirs;
	char name[64];
	int ends_of_pipe[2];

	close(server.fd);
	image_server_wait(&server, never);
	assert_int_equal(pipe(ends_of_pipe), 0);
	assert_int_equal(image_server_start(&server), 0);
	ask(3, path);
	found = reported(); /* answered, so its start is complete */
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	close(ends_of_pipe[1]);
	assert_int_equal(read(ends_of_pipe[0], name, 1), 0);
	close(ends_of_pipe[0]);
	snprintf(name, sizeof(name), "/proc/%d/fd/1", server.pid);
	assert_int_equal(stat("/dev/null", &ours), 0);
	assert_int_equal(stat(name, &theirs), 0);
	assert_int_equal(theirs.st_rdev, ours.st_rdev);
}

/* Only perf-source acts on signals of the terminal. */
static void test_terminal_signals_are_ignored(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	reported();
	kill(server.pid, SIGINT);
	kill(server.pid, SIGTERM);
	kill(server.pid, SIGHUP);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_a_client_with_the_key_gets_the_file),
		TEST(test_a_client_with_another_key_gets_nothing),
		TEST(test_clients_beyond_the_limit_are_refused),
		TEST(test_strangers_do_not_keep_clients_out),
		TEST(test_a_client_without_proof_gets_nothing),
		TEST(test_descriptors_of_strangers_are_not_kept),
		TEST(test_garbage_ends_only_its_client),
		TEST(test_a_client_that_never_reads_delays_no_other),
		TEST(test_the_server_exits_after_source_and_clients),
		TEST(test_the_server_exits_without_clients),
		TEST(test_waiting_for_the_server_ends),
		TEST(test_no_inherited_descriptor_is_kept),
		TEST(test_terminal_signals_are_ignored),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
