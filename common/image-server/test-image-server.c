/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server for each test; it is asked as perf-source asks, and as stages do. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/image-server/image-client.h"
#include "common/image-server/image-peers.h"
#include "common/image-server/image-server.h"
#include "common/image-server/served-images.h"

enum { PATIENCE_MS = 20000 }; /* with the server: far more than it ever needs */

static struct image_server server;
static struct wire_hello hello;
static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[80];
static char map_path[64]; /* of this process's perf map */

static int set_up(void **state)
{
	int fd;

	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, "content", 7) != 7)
		return -1;
	close(fd);
	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	unlink(map_path);
	if (image_server_start(&server) < 0)
		return -1;
	hello = (struct wire_hello){ .token_high = server.token_high,
				     .token_low = server.token_low };
	snprintf(hello.image_server, sizeof(hello.image_server), "%s", server.address);
	return 0;
}

/* Whether the server ends by itself, its last clients gone. */
static bool ends(void)
{
	struct pollfd end = { syscall(SYS_pidfd_open, server.pid, 0), POLLIN, 0 };
	bool has_ended = poll(&end, 1, PATIENCE_MS) == 1;

	close(end.fd);
	return has_ended;
}

static int tear_down(void **state)
{
	/* Clients of a test that failed, too: the server lives as long as they do. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	server.fd = -1;
	if (!ends())
		kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
	unlink(map_path);
	unlink(path);
	return rmdir(dir);
}

/* What perf-source sends of a new image, whose file has been another one. */
static void ask_instead(uint64_t number, const char *file, uint64_t replaces)
{
	_Alignas(8) char record[8192];
	struct wire_image_open request = {
		.image = number,
		.pid = getpid(),
		.path = wire_string(file, 4096),
		.replaces = replaces,
	};
	struct stat status = { 0 };

	stat(file, &status);
	request.device_major = major(status.st_dev);
	request.device_minor = minor(status.st_dev);
	request.inode = status.st_ino;
	assert_true(send(server.fd, record,
			 wire_encode(wire_type(WIRE_RECORD_image_open), &request, record, NULL),
			 MSG_NOSIGNAL) > 0);
}

static void ask(uint64_t number, const char *file)
{
	ask_instead(number, file, 0);
}

/* What it sends of a new process with anonymous memory. */
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

/* What perf-source gets to know. */
static struct wire_image_state told(void)
{
	_Alignas(8) char record[256];
	struct wire_image_state found;
	ssize_t size;

	assert_int_equal(poll(&(struct pollfd){ server.fd, POLLIN, 0 }, 1, PATIENCE_MS), 1);
	size = recv(server.fd, record, sizeof(record), 0);
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_image_state), record, size, 0, &found),
			 WIRE_OK);
	return found;
}

static struct image_client join(void)
{
	struct image_client client;
	struct timeval patience = { PATIENCE_MS / 1000, 0 };

	assert_int_equal(image_client_init(&client, &hello), 0);
	assert_true(client.fd >= 0);
	setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return client;
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

static void check_content(int fd, const char *expected)
{
	char bytes[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), strlen(expected));
	assert_string_equal(bytes, expected);
	close(fd);
}

static void test_who_has_the_key_gets_the_file(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	found = told();
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

static void test_a_file_that_was_removed_since_is_still_there(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	told();
	unlink(path);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
}

static void test_a_file_that_was_written_to_since_is_gone(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd;

	ask(3, path);
	told();
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

/* Of the same size and mtime; and its last name goes, which alone is no change. */
static void test_what_was_written_and_looks_the_same_is_gone(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	struct stat status;
	int fd;

	ask(3, path);
	told();
	stat(path, &status);
	const struct timespec times[] = { status.st_atim, status.st_mtim };
	write_map(path, 0, "CONTENT");
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	ask_instead(4, path, 3);
	assert_int_equal(told().image, 4);
	unlink(path);
	check_state(&client, 3, WIRE_image_status_GONE);
	assert_int_equal(image_client_open(&client, 4, &found, &fd), 0);
	assert_true(found.changed > found.modified);
	check_content(fd, "CONTENT");
	image_client_deinit(&client);
}

/* Without a proof nobody asks for anything, and with another key there is none. */
static void test_who_has_another_key_gets_nothing(void **state)
{
	struct wire_hello other = hello;
	struct image_client client;

	ask(3, path);
	told();
	other.token_low ^= 1;
	assert_int_equal(image_client_init(&client, &other), 0);
	assert_int_equal(client.fd, -1);
	assert_true(client.was_refused); /* its server would have known it */
	other.token_low ^= 1;
	other.token_high ^= 1ULL << 63;
	assert_int_equal(image_client_init(&client, &other), 0);
	assert_int_equal(client.fd, -1);
}

static void test_an_image_that_nobody_knows_is_unknown(void **state)
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

static void test_what_cannot_be_opened_is_told_with_its_reason(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, "/nowhere");
	assert_int_equal(told().status, WIRE_image_status_GONE);
	ask(4, dir);
	assert_int_equal(told().status, WIRE_image_status_REFUSED);
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
	assert_int_equal(told().status, WIRE_image_status_OPEN);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	assert_int_equal(recv(server.fd, &found, sizeof(found), MSG_DONTWAIT), -1);
	image_client_deinit(&client);
}

/* The answer waits for the openers, and each image is asked for before it is there. */
static void test_a_request_that_comes_early_is_answered(void **state)
{
	struct image_client client = join();

	for (uint64_t number = 3; number < 500; number++) {
		struct wire_image_state found;
		int fd = -1;

		ask(number, path);
		assert_int_equal(image_client_open(&client, number, &found, &fd), 0);
		assert_int_equal(found.image, number);
		check_content(fd, "content");
		assert_int_equal(told().image, number);
	}
	image_client_deinit(&client);
}

/* perf-source may be busy and read nothing for long; all of it is told in the end. */
static void test_a_busy_source_is_told_later(void **state)
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
		found = told();
		assert_true(found.image < N);
		assert_false(seen[found.image]);
		seen[found.image] = true;
		assert_int_equal(found.status,
				 found.image % 2 ? WIRE_image_status_OPEN : WIRE_image_status_GONE);
	}
	image_client_deinit(&client);
}

/* A connection without a word. */
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

static void test_many_clients_are_served_and_more_are_turned_away(void **state)
{
	struct image_client clients[IMAGE_SERVER_CLIENTS_MAX], more;
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	told();
	for (size_t i = 0; i < IMAGE_SERVER_CLIENTS_MAX; i++) {
		clients[i] = join();
		assert_int_equal(image_client_open(&clients[i], 3, &found, &fd), 0);
		check_content(fd, "content");
	}
	assert_int_equal(image_client_init(&more, &hello), 0);
	assert_int_equal(more.fd, -1);
	assert_true(count("turned-away") > 0);
	for (size_t i = 0; i < IMAGE_SERVER_CLIENTS_MAX; i += 2) /* every other one goes */
		image_client_deinit(&clients[i]);
	for (size_t i = 1; i < IMAGE_SERVER_CLIENTS_MAX; i += 2) {
		assert_int_equal(image_client_open(&clients[i], 3, &found, &fd), 0);
		check_content(fd, "content");
		image_client_deinit(&clients[i]);
	}
}

/* They have the table, and the backlog; whoever shows the key comes in all the same. */
static void test_strangers_keep_nobody_out(void **state)
{
	enum { STRANGERS = 2 * IMAGE_SERVER_CLIENTS_MAX };
	int fds[STRANGERS], fd = -1;
	struct wire_image_state found;
	struct image_client client;
	char byte;

	ask(3, path);
	told();
	for (size_t i = 0; i < STRANGERS; i++)
		fds[i] = stand_there();
	client = join();
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	assert_true(count("crowded-out") >= STRANGERS - IMAGE_STRANGERS_OF_USER_MAX);
	for (size_t i = 0; i < STRANGERS; i++) { /* each is shown the door, the last for silence */
		assert_int_equal(poll(&(struct pollfd){ fds[i], POLLIN, 0 }, 1, PATIENCE_MS), 1);
		assert_int_equal(recv(fds[i], &byte, 1, 0), 0);
		close(fds[i]);
	}
	assert_true(count("silent") > 0);
	image_client_deinit(&client);
}

static void expect_the_door(int fd, const void *record, size_t size)
{
	char byte;

	assert_int_equal(send(fd, record, size, MSG_NOSIGNAL), size);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

/* A request without a proof; and what the server has shown itself, sent back as one. */
static void test_who_shows_no_proof_of_his_own_gets_nothing(void **state)
{
	_Alignas(8) char record[256];
	const struct wire_image_request request = { hello.token_high, hello.token_low, 3 };
	const uint8_t nonce[IMAGE_NONCE_SIZE] = { 1 };
	const struct wire_image_challenge challenge = { { nonce, sizeof(nonce) } };
	ssize_t size;
	int fd;

	ask(3, path);
	told();
	size = wire_encode(wire_type(WIRE_RECORD_image_request), &request, record, NULL);
	expect_the_door(stand_there(), record, size);
	fd = stand_there();
	size = wire_encode(wire_type(WIRE_RECORD_image_challenge), &challenge, record, NULL);
	assert_int_equal(send(fd, record, size, MSG_NOSIGNAL), size);
	size = recv(fd, record, sizeof(record), 0);
	assert_true(size > 0);
	expect_the_door(fd, record, size);
	assert_int_equal(count("without-key"), 2);
}

/* Descriptors that come along with what a stranger says are nobody's. */
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

static void test_garbage_ends_a_client_and_nobody_else(void **state)
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

/* It sends requests and never takes an answer: the others must not wait for it. */
static void test_a_client_that_never_reads_holds_up_nobody(void **state)
{
	_Alignas(8) char record[128];
	struct wire_image_request request = { .image = 3 };
	size_t size = wire_encode(wire_type(WIRE_RECORD_image_request), &request, record, NULL);
	struct image_client rude = join(), good = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	told();
	for (int i = 0; i < 100000; i++)
		if (send(rude.fd, record, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 && errno != EAGAIN)
			break;
	assert_int_equal(image_client_open(&good, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&rude);
	image_client_deinit(&good);
}

static void test_it_ends_with_its_source_and_its_last_client(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	siginfo_t end;
	int fd = -1;

	ask(3, path);
	told();
	close(server.end_fd);
	close(server.fd);
	server.fd = -1;
	/* perf-source has closed: what drains is still served. */
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
	assert_true(ends());
	assert_int_equal(waitid(P_PID, server.pid, &end, WEXITED | WNOWAIT), 0);
	assert_int_equal(end.si_code, CLD_EXITED);
	assert_int_equal(end.si_status, 0);
}

static void test_it_ends_without_any_client(void **state)
{
	ask(3, path);
	close(server.end_fd);
	close(server.fd);
	server.fd = -1;
	assert_true(ends());
}

static bool never(void)
{
	return false;
}

static void test_waiting_for_it_comes_to_an_end(void **state)
{
	close(server.fd);
	server.fd = -1;
	image_server_wait(&server, never);
	image_server_wait(&server, never);		  /* nobody to wait for */
	assert_int_equal(image_server_start(&server), 0); /* for the tear-down */
}

/* It must not hold open what others wait to see closed, and least of all standard output. */
static void test_it_holds_nothing_of_its_parents(void **state)
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
	found = told(); /* it has begun its work, so it has left us */
	assert_int_equal(found.status, WIRE_image_status_OPEN);
	close(ends_of_pipe[1]);
	assert_int_equal(read(ends_of_pipe[0], name, 1), 0);
	close(ends_of_pipe[0]);
	snprintf(name, sizeof(name), "/proc/%d/fd/1", server.pid);
	assert_int_equal(stat("/dev/null", &ours), 0);
	assert_int_equal(stat(name, &theirs), 0);
	assert_int_equal(theirs.st_rdev, ours.st_rdev);
}

/* Signals of the terminal are perf-source's to act on. */
static void test_signals_of_the_terminal_do_not_end_it(void **state)
{
	struct image_client client = join();
	struct wire_image_state found;
	int fd = -1;

	ask(3, path);
	told();
	kill(server.pid, SIGINT);
	kill(server.pid, SIGTERM);
	kill(server.pid, SIGHUP);
	assert_int_equal(image_client_open(&client, 3, &found, &fd), 0);
	check_content(fd, "content");
	image_client_deinit(&client);
}

static void test_an_image_that_ended_is_not_known_any_more(void **state)
{
	struct image_client client = join();

	ask(5, path);
	assert_int_equal(told().status, WIRE_image_status_OPEN);
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

/* It is looked for when it is asked for, until it is there, and may grow then. */
static void test_the_map_of_a_process_is_served_as_soon_as_it_is_there(void **state)
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

static void test_perf_source_is_not_told_of_maps(void **state)
{
	struct image_client client = join();

	write_map(map_path, O_CREAT, "1000 10 one\n");
	ask_for_map(7, getpid());
	ask_for_map(8, 1 << 30);
	check_map(&client, 7, "1000 10 one\n");
	check_state(&client, 8, WIRE_image_status_GONE);
	ask(9, path);
	assert_int_equal(told().image, 9);
	image_client_deinit(&client);
}

static void test_the_map_of_a_process_that_has_died_is_served(void **state)
{
	struct image_client client = join();
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not get to kill it */
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

static void test_what_is_no_map_is_refused_and_holds_up_nobody(void **state)
{
	struct image_client client = join();

	ask_for_map(7, getpid());
	check_state(&client, 7, WIRE_image_status_GONE); /* as long as nothing is there */
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

/* How many descriptors the server has open. */
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

static void test_with_its_image_a_map_and_its_process_are_forgotten(void **state)
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

/* It holds no more of their roots than SERVED_IMAGES_ROOTS_MAX. */
static void test_many_processes_leave_descriptors_for_others(void **state)
{
	enum { MORE = SERVED_IMAGES_ROOTS_MAX + 10 };
	struct image_client client = join();
	size_t before;

	check_state(&client, MORE + 1, WIRE_image_status_UNKNOWN);
	before = count_descriptors();
	for (uint64_t number = 1; number <= MORE; number++) {
		ask_for_map(number, getpid());
		check_state(&client, number, WIRE_image_status_GONE);
	}
	assert_true(count_descriptors() <= before + SERVED_IMAGES_ROOTS_MAX);
	write_map(map_path, O_CREAT, "1000 10 one\n");
	check_state(&client, 1, WIRE_image_status_REFUSED);
	check_map(&client, MORE, "1000 10 one\n");
	image_client_deinit(&client);
}

/*
 * With few descriptors the server closes what was not used for longest, and opens it again when it
 * is asked for; but a content that has changed since is another image.
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
		assert_int_equal(told().status, WIRE_image_status_OPEN);
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
	/* Both were closed long ago. */
	snprintf(file, sizeof(file), "%s%d", path, REMOVED);
	unlink(file);
	assert_int_equal(image_client_open(&client, REMOVED, &found, &fd), 0);
	assert_int_equal(found.status, WIRE_image_status_GONE);
	assert_int_equal(fd, -1);
	snprintf(file, sizeof(file), "%s%d", path, CHANGED);
	assert_int_equal(truncate(file, 4), 0); /* the same inode, another content */
	assert_int_equal(image_client_open(&client, CHANGED, &found, &fd), 0);
	for (int i = 1; i <= FILES; i++) {
		snprintf(file, sizeof(file), "%s%d", path, i);
		unlink(file);
	}
	image_client_deinit(&client);
	setrlimit(RLIMIT_NOFILE, &kept); /* root alone may; nothing here needs more */
	if (fd >= 0)
		close(fd);
	assert_int_equal(fd, -1);
	assert_int_not_equal(found.status, WIRE_image_status_OPEN);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_who_has_the_key_gets_the_file),
		TEST(test_a_file_that_was_removed_since_is_still_there),
		TEST(test_a_file_that_was_written_to_since_is_gone),
		TEST(test_what_was_written_and_looks_the_same_is_gone),
		TEST(test_who_has_another_key_gets_nothing),
		TEST(test_an_image_that_nobody_knows_is_unknown),
		TEST(test_what_cannot_be_opened_is_told_with_its_reason),
		TEST(test_a_number_is_opened_once),
		TEST(test_a_request_that_comes_early_is_answered),
		TEST(test_a_busy_source_is_told_later),
		TEST(test_many_clients_are_served_and_more_are_turned_away),
		TEST(test_strangers_keep_nobody_out),
		TEST(test_who_shows_no_proof_of_his_own_gets_nothing),
		TEST(test_descriptors_of_strangers_are_not_kept),
		TEST(test_garbage_ends_a_client_and_nobody_else),
		TEST(test_a_client_that_never_reads_holds_up_nobody),
		TEST(test_it_ends_with_its_source_and_its_last_client),
		TEST(test_it_ends_without_any_client),
		TEST(test_waiting_for_it_comes_to_an_end),
		TEST(test_it_holds_nothing_of_its_parents),
		TEST(test_signals_of_the_terminal_do_not_end_it),
		TEST(test_an_image_that_ended_is_not_known_any_more),
		TEST(test_the_map_of_a_process_is_served_as_soon_as_it_is_there),
		TEST(test_perf_source_is_not_told_of_maps),
		TEST(test_the_map_of_a_process_that_has_died_is_served),
		TEST(test_what_is_no_map_is_refused_and_holds_up_nobody),
		TEST(test_with_its_image_a_map_and_its_process_are_forgotten),
		TEST(test_many_processes_leave_descriptors_for_others),
		TEST(test_few_descriptors_serve_many_images),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
