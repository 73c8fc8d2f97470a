/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "preload-source/listener.h"

/* Number of seccomp filters that a program inherits from us (proc(5)); 0 or 1 before Linux 5.9. */
static unsigned count_filters(void)
{
	_cleanup_file_ FILE *status = fopen("/proc/self/status", "re");
	_cleanup_free_ char *line = NULL;
	size_t size = 0;
	unsigned n, mode = 0;

	while (status && getline(&line, &size, status) > 0) {
		if (sscanf(line, "Seccomp_filters: %u", &n) == 1)
			return n;
		sscanf(line, "Seccomp: %u", &mode);
	}
	return mode != 0;
}

int listener_open(struct listener *listener)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t name;
	socklen_t size;

	*listener = (struct listener){ .fd = -1 };
	if (fd < 0)
		return -errno;
	if (getrandom(&name, sizeof(name), 0) < 0 ||
	    getrandom(listener->token, sizeof(listener->token), 0) < 0)
		return -errno;
	snprintf(listener->address, sizeof(listener->address), "stackpipe-heap-%016" PRIx64, name);
	size = offsetof(struct sockaddr_un, sun_path) + 1 + strlen(listener->address);
	memcpy(address.sun_path + 1, listener->address, strlen(listener->address));
	/* Accepted sockets inherit this option (unix(7)). */
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &(int){ 1 }, sizeof(int)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, SOMAXCONN) < 0)
		return -errno;
	listener->fd = take_fd(&fd);
	return 0;
}

void listener_close(struct listener *listener)
{
	for (size_t i = 0; i < listener->n_pending; i++)
		close(listener->pending[i].fd);
	listener->n_pending = 0;
	if (listener->fd >= 0)
		close(listener->fd);
	listener->fd = -1;
}

void listener_environment(const struct listener *listener,
			  char ret[static LISTENER_ENVIRONMENT_SIZE])
{
	snprintf(ret, LISTENER_ENVIRONMENT_SIZE, "%s=%s:%016" PRIx64 "%016" PRIx64 ":%u",
		 HEAP_ENVIRONMENT, listener->address, listener->token[0], listener->token[1],
		 count_filters());
}

static void forget_pending(struct listener *listener, size_t i)
{
	listener->pending[i] = listener->pending[--listener->n_pending];
}

/* Refuses connections whose hello is late. */
static void turn_away_silent(struct listener *listener)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	for (size_t i = listener->n_pending; i-- > 0;) {
		if (now - listener->pending[i].came_at < LISTENER_HELLO_NS)
			continue;
		close(listener->pending[i].fd);
		listener->n_refused++;
		forget_pending(listener, i);
	}
}

void listener_accept(struct listener *listener)
{
	turn_away_silent(listener);
	while (listener->n_pending < LISTENER_PENDING_MAX) {
		int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0)
			return;
		listener->pending[listener->n_pending++] =
			(struct listener_pending){ fd, clock_now(CLOCK_MONOTONIC) };
	}
}

/* The sender's PID as the kernel reports it; 0: unknown. */
static pid_t find_sender(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	struct ucred sender;

	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(sender)))
		return 0;
	memcpy(&sender, CMSG_DATA(header), sizeof(sender));
	return sender.pid;
}

/* 0; -EAGAIN: nothing sent so far; -EPROTO: no valid hello. */
static int read_hello(const struct listener *listener, int fd, struct listener_client *ret)
{
	char control[CMSG_SPACE(sizeof(struct ucred))] __attribute__((aligned(8)));
	struct heap_hello hello;
	struct iovec part = { &hello, sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control, /* no room for descriptors: they are dropped */
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	pid_t pid;

	if (n < 0)
		return -errno;
	pid = find_sender(&message);
	if (n != sizeof(hello) || hello.magic != HEAP_MAGIC || hello.version != HEAP_VERSION ||
	    (hello.purpose != HEAP_TO_BE_TRACED && hello.purpose != HEAP_HAS_SANITIZER) ||
	    ((hello.token[0] ^ listener->token[0]) | (hello.token[1] ^ listener->token[1])) ||
	    pid <= 0)
		return -EPROTO;
	*ret = (struct listener_client){ fd, pid, hello.pid, hello.purpose };
	return 0;
}

bool listener_next(struct listener *listener, struct listener_client *ret)
{
	for (size_t i = 0; i < listener->n_pending; i++) {
		int r = read_hello(listener, listener->pending[i].fd, ret);

		if (r == -EAGAIN || r == -EINTR)
			continue;
		if (r < 0) {
			close(listener->pending[i].fd);
			listener->n_refused++;
		}
		forget_pending(listener, i--);
		if (r == 0)
			return true;
	}
	return false;
}

int listener_answer(struct listener_client *client, const struct heap_welcome *welcome,
		    const int fds[3])
{
	_cleanup_fd_ int fd = take_fd(&client->fd);
	char control[CMSG_SPACE(3 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec part = { (void *)welcome, sizeof(*welcome) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (welcome->answer == HEAP_WELCOME) {
		struct cmsghdr *header = (struct cmsghdr *)control;

		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(3 * sizeof(int));
		memcpy(CMSG_DATA(header), fds, 3 * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}
