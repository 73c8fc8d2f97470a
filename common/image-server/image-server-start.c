/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The parent's side of the image server: its start, its end, and its counters. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/image-server/image-message.h"
#include "common/image-server/image-server-internal.h"
#include "common/stage/helper-process.h"

enum {
	SOURCE_PATIENCE_S = 2, /* perf-source's limit for a full socket */
	ASKED_MAX = 8 << 20,   /* bytes in flight to the server, with the kernel's overhead */
};

/* Listens at an abstract address that cannot be guessed, and so not be occupied before. */
static int listen_somewhere(struct image_server *server)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	uint64_t random[3];

	if (fd < 0)
		return -errno;
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	server->token_high = random[0];
	server->token_low = random[1];
	snprintf(server->address, sizeof(server->address), "stackpipe-images-%016llx",
		 (unsigned long long)random[2]);
	strcpy(address.sun_path + 1, server->address);
	if (bind(fd, (void *)&address,
		 offsetof(struct sockaddr_un, sun_path) + 1 + strlen(server->address)) < 0 ||
	    listen(fd, IMAGE_SERVER_CLIENTS_MAX) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Both processes keep the memory until they end. */
static uint64_t *share_counts(void)
{
	void *counts = mmap(NULL, N_IMAGE_SERVER_COUNTS * sizeof(uint64_t), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return counts == MAP_FAILED ? NULL : counts;
}

/*
 * Room for a burst of requests. With 200 KiB, a few hundred images, source and server would wait
 * for each other a hundred times for a process with 20,000 files, on a busy machine a time slice
 * each. Without CAP_NET_ADMIN the limit is that of socket(7) for all users.
 */
static void enlarge(int socket)
{
	const int size = ASKED_MAX;

	if (setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

int image_server_start(struct image_server *ret)
{
	struct image_server server = { 0 };
	_cleanup_fd_ int listen_fd = listen_somewhere(&server), ours = -1, theirs = -1;
	const struct timeval patience = { .tv_sec = SOURCE_PATIENCE_S };
	int pair[2], fds[2];

	if (listen_fd < 0)
		return listen_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	enlarge(ours);
	/* A stopped or starved server must not block the source. */
	if (setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	fds[0] = theirs; /* IMAGE_SERVER_SOURCE_FD, IMAGE_SERVER_LISTEN_FD */
	fds[1] = listen_fd;
	server.counts = share_counts();
	if (!server.counts)
		return -ENOMEM;
	server.pid = fork();
	if (server.pid < 0)
		return -errno;
	if (server.pid == 0) {
		if (!helper_process_begin("image-server", fds, 2))
			_exit(1);
		image_server_run(&server);
	}
	server.end_fd = fcntl(ours, F_DUPFD_CLOEXEC, 0);
	if (server.end_fd < 0)
		return -errno; /* the child sees the closed socket and exits */
	server.fd = take_fd(&ours);
	*ret = server;
	return 0;
}

void image_server_wait(struct image_server *server, bool (*gives_up)(void))
{
	struct pollfd end = { server->end_fd, 0, 0 };

	if (server->pid <= 0 || server->end_fd < 0)
		return;
	/* An empty message announces the end; without it there is nothing to wait for. */
	if (image_message_ask(server->end_fd, "", 0, 0) == 0)
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			if (gives_up())
				break;
	close(server->end_fd);
	server->end_fd = -1;
	waitpid(server->pid, NULL, WNOHANG);
}

void image_server_count(const struct image_server *server, struct counters *counters)
{
	static const char *const names[] = {
		[IMAGE_SERVER_TURNED_AWAY] = "turned-away",
		[IMAGE_SERVER_CROWDED_OUT] = "crowded-out",
		[IMAGE_SERVER_SILENT] = "silent",
		[IMAGE_SERVER_WITHOUT_KEY] = "without-key",
	};

	_Static_assert(sizeof(names) / sizeof(names[0]) == N_IMAGE_SERVER_COUNTS, "all of them");
	for (size_t i = 0; server->counts && i < N_IMAGE_SERVER_COUNTS; i++)
		if (server->counts[i])
			*counters_get(counters, "image-server", names[i]) = server->counts[i];
}
