/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The server's main loop. perf-source requests an image (image_open), a thread opens it, the result
 * is sent to perf-source (image_state), and clients get it on request (image_request, answered by
 * image_state with a descriptor). perf-source requests an image before its number appears in the
 * stream, so a client that is too early is answered when the image is open. image_exit ends an
 * image.
 *
 * Under the number of a process's anonymous image clients get its perf map. perf-source requests
 * it, too (map_open), but gets no image_state: a map is expected to change.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/descriptor-limit.h"
#include "common/image-server/image-message.h"
#include "common/image-server/image-peers.h"
#include "common/image-server/image-server-internal.h"
#include "common/image-server/image-store.h"
#include "common/stream/build-id.h"

enum {
	MESSAGE_MAX = 4096 + 512,
	SPARE_DESCRIPTORS = 128,
	RESERVED_MAX = 65536, /* descriptors */
	TURN_MS = 10,	      /* pause in accepting strangers when there were too many */
	BURST = 256,	      /* messages of perf-source per round */
};

struct server {
	int source_fd; /* -1: closed */
	int listen_fd;
	struct image_store images;
	struct image_peers peers;
	bool any_unreported;
	bool has_source;
};

static struct wire_image_state state_of(const struct stored_image *image)
{
	return (struct wire_image_state){
		.image = image->number,
		.status = image->file.status,
		.size = image->file.state.size,
		.modified = image->file.state.modified,
		.changed = image->file.state.changed,
	};
}

static void drop(struct server *server, struct image_peer *client)
{
	image_peers_drop(&server->peers, client, clock_now(CLOCK_MONOTONIC));
}

static void answer(struct server *server, struct image_peer *client, struct stored_image *image)
{
	struct wire_image_state state;

	client->waits_for = 0;
	image_store_use(&server->images, image);
	state = state_of(image);
	if (image_message_send(client->fd, &state, image->file.fd) < 0)
		drop(server, client);
}

static void answer_waiting(struct server *server, struct stored_image *image)
{
	for (size_t i = 0; i < server->peers.n; i++)
		if (server->peers.list[i].waits_for == image->number)
			answer(server, &server->peers.list[i], image);
}

/*
 * perf-source may be busy writing: a state that does not fit into its socket now is sent again
 * later. It also gets the descriptor, to detect changes of the file.
 */
static void report_source(struct server *server, struct stored_image *image)
{
	struct wire_image_state state = state_of(image);

	if (image->is_reported || image->kind == OPENING_MAP || server->source_fd < 0)
		return;
	image->is_reported = image_message_send(server->source_fd, &state,
						image_file_watched(&image->file)) == 0;
	server->any_unreported |= !image->is_reported;
}

static void report_unreported(struct server *server)
{
	struct stored_image *image, *next;

	if (!server->any_unreported)
		return;
	server->any_unreported = false;
	HASH_ITER(hh, server->images.by_number, image, next)
	{
		if (image->state == SERVED_READY)
			report_source(server, image);
		if (server->any_unreported) /* the socket is full */
			return;
	}
}

static void take_ready(struct stored_image *image, void *arg)
{
	struct server *server = arg;

	report_source(server, image);
	answer_waiting(server, image);
}

/* There is no room for the image. No other part of the server will report it. */
static void refuse(const struct server *server, uint64_t number)
{
	struct wire_image_state state = { number, WIRE_image_status_REFUSED, 0, 0 };

	image_message_send(server->source_fd, &state, -1);
}

/* perf-source has found a new image. */
static void take_open(struct server *server, const struct wire_image_open *request)
{
	struct stored_image *before = image_store_find(&server->images, request->replaces);

	if (before)
		image_store_replaced(&server->images, before);
	if (image_store_find(&server->images, request->image))
		return;
	if (!image_store_add_file(&server->images, request))
		refuse(server, request->image);
}

/* perf-source has found a process with code that a JIT compiler may have made. */
static void take_map_open(struct server *server, const struct wire_map_open *request)
{
	if (!image_store_find(&server->images, request->image))
		image_store_add_map(&server->images, request);
}

/* perf-source reports that an image is no longer mapped. */
static void take_exit(struct server *server, const struct wire_image_exit *exit)
{
	const uint64_t numbers[] = {
		exit->image,
		exit->image | IMAGE_MESSAGE_MAP_OF,
		exit->image | IMAGE_MESSAGE_DEBUG_OF,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct stored_image *image = image_store_find(&server->images, numbers[i]);

		if (image)
			image_store_forget(&server->images, image);
	}
}

static void take_from_source(struct server *server, const void *record, size_t size)
{
	struct wire_image_open request;
	struct wire_map_open map;
	struct wire_image_exit exit;

	if (!wire_decode(wire_type(WIRE_RECORD_image_open), record, size, 0, &request))
		take_open(server, &request);
	else if (!wire_decode(wire_type(WIRE_RECORD_map_open), record, size, 0, &map))
		take_map_open(server, &map);
	else if (!wire_decode(wire_type(WIRE_RECORD_image_exit), record, size, 0, &exit))
		take_exit(server, &exit);
}

/* Handles up to `n_max` messages of perf-source. */
static void read_source(struct server *server, size_t n_max)
{
	_Alignas(8) char record[MESSAGE_MAX];
	ssize_t size;

	for (size_t n = 0; n < n_max && server->has_source; n++) {
		size = recv(server->source_fd, record, sizeof(record), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0) {
			server->has_source = false;
			server->peers.last_went_at = clock_now(CLOCK_MONOTONIC);
			return;
		}
		take_from_source(server, record, size);
	}
}

/*
 * The debug file of an image, below the root of the process that has mapped it. Only hexadecimal
 * digits of the build-id get into the path; the client compares the file's. NULL: no such image.
 */
static struct stored_image *find_debug(struct server *server,
				       const struct wire_image_request *request)
{
	const struct stored_image *image = image_store_find(&server->images, request->image);
	struct wire_map_open below = { .image = request->image | IMAGE_MESSAGE_DEBUG_OF };
	struct stored_image *debug = image_store_find(&server->images, below.image);
	char hex[BUILD_ID_TEXT], path[BUILD_ID_TEXT + 64];

	if (debug || !image || image->kind != OPENING_FILE || request->build_id.size < 2)
		return debug;
	below.pid = image->request.pid;
	build_id_text(request->build_id.data, request->build_id.size, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return image_store_add_below_root(&server->images, &below, path);
}

static struct stored_image *find_requested(struct server *server,
					   const struct wire_image_request *request)
{
	return request->build_id.size ? find_debug(server, request)
				      : image_store_find(&server->images, request->image);
}

static void take_request(struct server *server, struct image_peer *client,
			 const struct wire_image_request *request)
{
	struct wire_image_state unknown = { request->image, WIRE_image_status_UNKNOWN, 0, 0 };
	struct stored_image *image = find_requested(server, request);

	if (!image) { /* perf-source requested it before this client could */
		read_source(server, SIZE_MAX);
		image = find_requested(server, request);
	}
	if (!image) {
		if (image_message_send(client->fd, &unknown, -1) < 0)
			drop(server, client);
		return;
	}
	client->waits_for = image->number;
	if (!image_store_open(&server->images, image))
		answer(server, client, image);
}

static void read_peer(struct server *server, struct image_peer *peer)
{
	_Alignas(8) char record[256];
	struct wire_image_request request;
	ssize_t size = recv(peer->fd, record, sizeof(record), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size > 0 && peer->state != IMAGE_PEER_CLIENT)
		image_peers_receive(&server->peers, peer, record, size, clock_now(CLOCK_MONOTONIC));
	else if (size <= 0 || peer->waits_for ||
		 wire_decode(wire_type(WIRE_RECORD_image_request), record, size, 0, &request))
		drop(server, peer);
	else
		take_request(server, peer, &request);
}

/* Whether the server can exit. */
static bool is_over(const struct server *server)
{
	return !server->has_source && !server->peers.n_clients &&
	       clock_now(CLOCK_MONOTONIC) - server->peers.last_went_at >=
		       IMAGE_SERVER_GRACE_MS * NANOSECONDS_A_MILLISECOND;
}

/*
 * All clients that connected have disconnected: releases perf-source before the grace period ends.
 */
static void release_source(struct server *server)
{
	if (server->has_source || !server->peers.any_came || server->peers.n_clients ||
	    server->source_fd < 0)
		return;
	close(server->source_fd);
	server->source_fd = -1;
	dup2(STDIN_FILENO, STDERR_FILENO); /* /dev/null: stderr's reader may wait for its end */
}

enum { SOURCE, LISTEN, DONE, PEERS };

/* Returns for how long, in milliseconds, poll(2) may wait. */
static int fill(const struct server *server, uint64_t now, struct pollfd *ret)
{
	bool has_turn = image_peers_has_turn(&server->peers, now);

	ret[SOURCE] = (struct pollfd){ server->has_source ? server->source_fd : -1, POLLIN, 0 };
	ret[LISTEN] = (struct pollfd){ has_turn ? server->listen_fd : -1, POLLIN, 0 };
	ret[DONE] = (struct pollfd){ server->images.openers.done_fds[0], POLLIN, 0 };
	for (size_t i = 0; i < server->peers.n; i++)
		ret[PEERS + i] = (struct pollfd){ server->peers.list[i].fd, POLLIN, 0 };
	return has_turn ? IMAGE_SERVER_GRACE_MS / 2 : TURN_MS;
}

static void serve(struct server *server)
{
	struct pollfd fds[PEERS + IMAGE_SERVER_CLIENTS_MAX];

	while (!is_over(server)) {
		uint64_t now = clock_now(CLOCK_MONOTONIC);
		int wait_ms;

		release_source(server);
		image_peers_sweep(&server->peers);
		wait_ms = fill(server, now, fds);
		if (poll(fds, PEERS + server->peers.n, wait_ms) < 0)
			continue;
		if (fds[SOURCE].revents)
			read_source(server, BURST);
		for (size_t i = 0; i < server->peers.n; i++)
			if (fds[PEERS + i].revents && server->peers.list[i].fd >= 0)
				read_peer(server, &server->peers.list[i]);
		if (fds[DONE].revents)
			image_store_take_done(&server->images);
		image_store_give_up_slow(&server->images);
		report_unreported(server);
		now = clock_now(CLOCK_MONOTONIC);
		image_peers_drop_silent(&server->peers, now);
		if (fds[LISTEN].revents)
			image_peers_let_in(&server->peers, server->listen_fd, now);
	}
}

/*
 * Only opening is left to do: files of other users, by other processes' mappings. Threads are
 * created as requests demand.
 */
static void confine(void)
{
	static const int capabilities[] = {
		CAP_SYS_PTRACE,		CAP_PERFMON,   CAP_DAC_READ_SEARCH,
		CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, /* the latter before Linux 5.9 */
	};
	static const int calls[] = {
		SCMP_SYS(read),
		SCMP_SYS(write),
		SCMP_SYS(poll),
		SCMP_SYS(recvfrom),
		SCMP_SYS(sendmsg),
		SCMP_SYS(accept4),
		SCMP_SYS(close),
		SCMP_SYS(dup2),
		SCMP_SYS(getsockopt),
		SCMP_SYS(openat),
		SCMP_SYS(openat2),
		SCMP_SYS(newfstatat),
		SCMP_SYS(getdents64),
		SCMP_SYS(fstat),
		SCMP_SYS(fstatfs),
		SCMP_SYS(fcntl),
		SCMP_SYS(ioctl),
		SCMP_SYS(memfd_create),
		SCMP_SYS(utimensat),
		SCMP_SYS(mmap),
		SCMP_SYS(munmap),
		SCMP_SYS(mremap),
		SCMP_SYS(mprotect),
		SCMP_SYS(madvise),
		SCMP_SYS(brk),
		SCMP_SYS(futex),
		SCMP_SYS(clone),
		SCMP_SYS(set_robust_list),
		SCMP_SYS(rseq),
		SCMP_SYS(rt_sigaction),
		SCMP_SYS(rt_sigprocmask),
		SCMP_SYS(rt_sigreturn),
		SCMP_SYS(restart_syscall),
		SCMP_SYS(sched_getaffinity),
		SCMP_SYS(clock_gettime),
		SCMP_SYS(getrandom),
		SCMP_SYS(exit),
		SCMP_SYS(exit_group),
	};
	size_t n = sizeof(capabilities) / sizeof(*capabilities);

	if (prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE) >= 0)
		n--;
	helper_process_confine(capabilities, n, calls, sizeof(calls) / sizeof(*calls));
}

/*
 * Grows the descriptor table to its final size before there are threads: with threads the kernel
 * waits for all CPUs each time that it grows the table (0.4 s on a busy machine).
 */
static void reserve_descriptors(size_t n)
{
	int fd = fcntl(IMAGE_SERVER_SOURCE_FD, F_DUPFD_CLOEXEC,
		       n < RESERVED_MAX ? n - 1 : RESERVED_MAX - 1);

	if (fd >= 0)
		close(fd);
}

_Noreturn void image_server_run(const struct image_server *reported)
{
	struct server server = {
		.source_fd = IMAGE_SERVER_SOURCE_FD,
		.has_source = true,
		.listen_fd = IMAGE_SERVER_LISTEN_FD,
		.peers = { .key = { reported->token_high, reported->token_low },
			   .counts = reported->counts },
	};
	size_t n = descriptor_limit_raise();

	n = n > 2 * SPARE_DESCRIPTORS ? n - SPARE_DESCRIPTORS : SPARE_DESCRIPTORS;
	reserve_descriptors(n);
	if (image_store_init(&server.images, n, take_ready, &server) < 0)
		_exit(1);
	confine();
	serve(&server);
	/* A blocked thread may keep the process, and its descriptors, alive for longer. */
	close(server.listen_fd);
	_exit(0);
}
