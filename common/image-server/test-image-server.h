/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests: one image server per test, used as perf-source and stages do. */
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/image-server/image-client.h"
#include "common/image-server/image-server.h"

enum { PATIENCE_MS = 20000 }; /* timeout, far longer than the server ever needs */

static struct image_server server;
static struct wire_hello hello;
static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static char path[80];
static char map_path[64]; /* this process's perf map */

static inline int set_up(void **state)
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

/* Whether the server exits by itself after its last client has left. */
static inline bool ends(void)
{
	struct pollfd end = { syscall(SYS_pidfd_open, server.pid, 0), POLLIN, 0 };
	bool has_ended = poll(&end, 1, PATIENCE_MS) == 1;

	close(end.fd);
	return has_ended;
}

static inline int tear_down(void **state)
{
	/* Closes clients of a failed test, too: they keep the server alive. */
	syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
	server.fd = -1;
	if (!ends())
		kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
	unlink(map_path);
	unlink(path);
	return rmdir(dir);
}

/* What perf-source sends for a new image that replaces one of the same file. */
static inline void ask_instead(uint64_t number, const char *file, uint64_t replaces)
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

static inline void ask(uint64_t number, const char *file)
{
	ask_instead(number, file, 0);
}

/* Receives the next state that perf-source is sent. */
static inline struct wire_image_state reported(void)
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

static inline struct image_client join(void)
{
	struct image_client client;
	struct timeval patience = { PATIENCE_MS / 1000, 0 };

	assert_int_equal(image_client_init(&client, &hello), 0);
	assert_true(client.fd >= 0);
	setsockopt(client.fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return client;
}

static inline void check_content(int fd, const char *expected)
{
	char bytes[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), strlen(expected));
	assert_string_equal(bytes, expected);
	close(fd);
}

static inline bool never(void)
{
	return false;
}
