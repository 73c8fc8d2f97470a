/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The server's life: an image is asked for by perf-source (image_open), opened by one of the
 * threads, told to perf-source (image_state), and handed to clients (image_request, answered by
 * image_state with a descriptor). A client that asks too early is answered when the image is
 * there: perf-source always asks before the image's number can be known to anybody else. It also
 * says when an image is no more (image_exit).
 *
 * By the number of a process's anonymous image clients get its perf map; perf-source asks for it,
 * too (map_open), but is not told of it: that it changes is how it should be.
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
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/build-id.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/descriptor-limit.h"
#include "common/helper-process.h"
#include "common/image-message.h"
#include "common/image-server.h"
#include "common/served-images.h"

enum {
	MESSAGE_MAX = 4096 + 512,
	SPARE_DESCRIPTORS = 128,
	RESERVED_MAX = 65536,	       /* descriptors */
	SOURCE_PATIENCE_S = 2,	       /* of perf-source with a full socket */
	SOURCE_FD = HELPER_PROCESS_FD, /* where the server has its two sockets */
	LISTEN_FD,
};

struct client {
	int fd;
	uint64_t waits_for; /* number of an image, 0: none */
	bool is_trusted;    /* it has shown the token; others keep nobody waiting */
};

struct server {
	int source_fd; /* -1: perf-source has closed it */
	int listen_fd;
	uint64_t token_high, token_low;
	struct served_images images;
	struct client clients[IMAGE_SERVER_CLIENTS_MAX];
	size_t n_clients;
	uint64_t last_client; /* when it went */
	bool any_untold;
	bool has_source, has_had_clients;
};

static struct wire_image_state state_of(const struct served_image *image)
{
	return (struct wire_image_state){
		.image = image->number,
		.status = image->file.status,
		.size = image->file.state.size,
		.modified = image->file.state.modified,
		.changed = image->file.state.changed,
	};
}

static void drop_client(struct server *server, struct client *client)
{
	if (client->is_trusted)
		server->last_client = clock_now(CLOCK_MONOTONIC);
	close(client->fd);
	*client = server->clients[--server->n_clients];
}

static size_t count_trusted(const struct server *server)
{
	size_t n = 0;

	for (size_t i = 0; i < server->n_clients; i++)
		n += server->clients[i].is_trusted;
	return n;
}

/* Whoever has not shown the token yet makes room for the next one. */
static void drop_untrusted(struct server *server)
{
	for (size_t i = 0; i < server->n_clients; i++) {
		if (server->clients[i].is_trusted)
			continue;
		drop_client(server, &server->clients[i]);
		return;
	}
}

static void answer(struct server *server, struct client *client, struct served_image *image)
{
	struct wire_image_state state;

	client->waits_for = 0;
	served_images_use(&server->images, image);
	state = state_of(image);
	if (image_message_send(client->fd, &state, image->file.fd) < 0)
		drop_client(server, client);
}

static void answer_waiting(struct server *server, struct served_image *image)
{
	for (size_t i = server->n_clients; i-- > 0;)
		if (server->clients[i].waits_for == image->number)
			answer(server, &server->clients[i], image);
}

/*
 * perf-source may be busy writing: what it cannot take now is told again later. It gets the
 * descriptor, too, to see whether the file changes.
 */
static void tell_source(struct server *server, struct served_image *image)
{
	struct wire_image_state state = state_of(image);

	if (image->is_told || image->kind == OPENING_MAP || server->source_fd < 0)
		return;
	image->is_told = image_message_send(server->source_fd, &state, image->file.fd) == 0;
	server->any_untold |= !image->is_told;
}

static void tell_untold(struct server *server)
{
	struct served_image *image, *next;

	if (!server->any_untold)
		return;
	server->any_untold = false;
	HASH_ITER(hh, server->images.by_number, image, next)
	{
		if (image->state == SERVED_READY)
			tell_source(server, image);
		if (server->any_untold) /* it takes no more now */
			return;
	}
}

static void take_ready(struct served_image *image, void *arg)
{
	struct server *server = arg;

	tell_source(server, image);
	answer_waiting(server, image);
}

/* There is no room for it, which is told, because nobody else will say anything of it. */
static void refuse(const struct server *server, uint64_t number)
{
	struct wire_image_state state = { number, WIRE_image_status_REFUSED, 0, 0 };

	image_message_send(server->source_fd, &state, -1);
}

/* perf-source has met a new image. */
static void take_open(struct server *server, const struct wire_image_open *request)
{
	struct served_image *before = served_images_find(&server->images, request->replaces);

	if (before)
		served_images_replaced(&server->images, before);
	if (served_images_find(&server->images, request->image))
		return;
	if (!served_images_add_file(&server->images, request))
		refuse(server, request->image);
}

/* It has met a process with code that a JIT compiler may have made. */
static void take_map_open(struct server *server, const struct wire_map_open *request)
{
	if (!served_images_find(&server->images, request->image))
		served_images_add_map(&server->images, request);
}

/* It knows that nobody has an image mapped any more. */
static void take_exit(struct server *server, const struct wire_image_exit *exit)
{
	const uint64_t numbers[] = {
		exit->image,
		exit->image | IMAGE_MESSAGE_MAP_OF,
		exit->image | IMAGE_MESSAGE_DEBUG_OF,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct served_image *image = served_images_find(&server->images, numbers[i]);

		if (image)
			served_images_forget(&server->images, image);
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

/* All that perf-source has said so far. */
static void read_source(struct server *server)
{
	_Alignas(8) char record[MESSAGE_MAX];
	ssize_t size;

	while (server->has_source) {
		size = recv(server->source_fd, record, sizeof(record), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0) {
			server->has_source = false;
			server->last_client = clock_now(CLOCK_MONOTONIC);
			return;
		}
		take_from_source(server, record, size);
	}
}

/*
 * The debug file of an image, where the process would have it that has mapped the image. Only
 * digits of the build-id get into the path; whoever asks compares it with the file's. NULL: there
 * is no such image.
 */
static struct served_image *find_debug(struct server *server,
				       const struct wire_image_request *request)
{
	const struct served_image *image = served_images_find(&server->images, request->image);
	struct wire_map_open below = { .image = request->image | IMAGE_MESSAGE_DEBUG_OF };
	struct served_image *debug = served_images_find(&server->images, below.image);
	char hex[BUILD_ID_TEXT], path[BUILD_ID_TEXT + 64];

	if (debug || !image || image->kind != OPENING_FILE || request->build_id.size < 2)
		return debug;
	below.pid = image->request.pid;
	build_id_text(request->build_id.data, request->build_id.size, hex);
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
	return served_images_add_below_root(&server->images, &below, path);
}

/* false: whoever asks knows no key. */
static bool is_trusted(const struct server *server, const struct wire_image_request *request)
{
	return request->token_high == server->token_high && request->token_low == server->token_low;
}

static void take_request(struct server *server, struct client *client,
			 const struct wire_image_request *request)
{
	struct wire_image_state unknown = { request->image, WIRE_image_status_UNKNOWN, 0, 0 };
	struct served_image *image = NULL;

	read_source(server); /* what was asked for before this client could ask */
	if (is_trusted(server, request))
		image = request->build_id.size
				? find_debug(server, request)
				: served_images_find(&server->images, request->image);
	if (!image) {
		if (image_message_send(client->fd, &unknown, -1) < 0)
			drop_client(server, client);
		return;
	}
	client->is_trusted = server->has_had_clients = true;
	client->waits_for = image->number;
	if (!served_images_open(&server->images, image))
		answer(server, client, image);
}

static void read_client(struct server *server, struct client *client)
{
	_Alignas(8) char record[256];
	struct wire_image_request request;
	ssize_t size = recv(client->fd, record, sizeof(record), MSG_DONTWAIT);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0 || client->waits_for ||
	    wire_decode(wire_type(WIRE_RECORD_image_request), record, size, 0, &request))
		drop_client(server, client);
	else
		take_request(server, client, &request);
}

static void accept_client(struct server *server)
{
	int fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (server->n_clients == IMAGE_SERVER_CLIENTS_MAX)
		drop_untrusted(server);
	if (server->n_clients == IMAGE_SERVER_CLIENTS_MAX)
		close(fd);
	else
		server->clients[server->n_clients++] = (struct client){ .fd = fd };
}

/* Nobody needs the server any more. */
static bool is_over(const struct server *server)
{
	return !server->has_source && !count_trusted(server) &&
	       clock_now(CLOCK_MONOTONIC) - server->last_client >=
		       IMAGE_SERVER_GRACE_MS * NANOSECONDS_A_MILLISECOND;
}

/*
 * All who came have gone: perf-source need not wait until it is certain that nobody else will.
 */
static void release_source(struct server *server)
{
	if (server->has_source || !server->has_had_clients || count_trusted(server) ||
	    server->source_fd < 0)
		return;
	close(server->source_fd);
	server->source_fd = -1;
	dup2(STDIN_FILENO, STDERR_FILENO); /* /dev/null: somebody may wait for the other's end */
}

static void serve(struct server *server)
{
	enum { SOURCE, LISTEN, DONE, CLIENTS };
	struct pollfd fds[CLIENTS + IMAGE_SERVER_CLIENTS_MAX];

	while (!is_over(server)) {
		size_t n_clients = server->n_clients;

		release_source(server);
		fds[SOURCE] =
			(struct pollfd){ server->has_source ? server->source_fd : -1, POLLIN, 0 };
		fds[LISTEN] = (struct pollfd){ server->listen_fd, POLLIN, 0 };
		fds[DONE] = (struct pollfd){ server->images.openers.done_fds[0], POLLIN, 0 };
		for (size_t i = 0; i < n_clients; i++)
			fds[CLIENTS + i] = (struct pollfd){ server->clients[i].fd, POLLIN, 0 };
		if (poll(fds, CLIENTS + n_clients, IMAGE_SERVER_GRACE_MS / 2) < 0)
			continue;
		/* Backwards: a client that is dropped is replaced by the last one. */
		for (size_t i = n_clients; i-- > 0;)
			if (fds[CLIENTS + i].revents)
				read_client(server, &server->clients[i]);
		if (fds[SOURCE].revents)
			read_source(server);
		if (fds[LISTEN].revents)
			accept_client(server);
		if (fds[DONE].revents)
			served_images_take_done(&server->images);
		served_images_give_up_slow(&server->images);
		tell_untold(server);
	}
}

/*
 * To open is all that is left to do: files of others, by the mappings of others. Threads that do
 * come and go with what waits.
 */
static void confine(void)
{
	static const int capabilities[] = {
		CAP_SYS_PTRACE,		CAP_PERFMON,   CAP_DAC_READ_SEARCH,
		CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN, /* the latter instead, before Linux 5.9 */
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
		SCMP_SYS(openat),
		SCMP_SYS(openat2),
		SCMP_SYS(newfstatat),
		SCMP_SYS(getdents64),
		SCMP_SYS(fstat),
		SCMP_SYS(fstatfs),
		SCMP_SYS(fcntl),
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
 * Makes the table of descriptors as large as it will get, before there are threads: with them the
 * kernel waits for all CPUs each time that it enlarges it (0.4 s on a busy machine).
 */
static void reserve_descriptors(size_t n)
{
	int fd = fcntl(SOURCE_FD, F_DUPFD_CLOEXEC, n < RESERVED_MAX ? n - 1 : RESERVED_MAX - 1);

	if (fd >= 0)
		close(fd);
}

static void run(int source_fd, int listen_fd, const struct image_server *told)
{
	struct server server = {
		.source_fd = source_fd,
		.has_source = true,
		.listen_fd = listen_fd,
		.token_high = told->token_high,
		.token_low = told->token_low,
	};
	size_t n = descriptor_limit_raise();

	n = n > 2 * SPARE_DESCRIPTORS ? n - SPARE_DESCRIPTORS : SPARE_DESCRIPTORS;
	reserve_descriptors(n);
	if (served_images_init(&server.images, n, take_ready, &server) < 0)
		_exit(1);
	confine();
	serve(&server);
	_exit(0);
}

/* An abstract address that nobody can guess or be in the way of. */
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
	/* A server that is stopped or starved must not stop who feeds it. */
	if (setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	fds[0] = theirs; /* SOURCE_FD, LISTEN_FD */
	fds[1] = listen_fd;
	server.pid = fork();
	if (server.pid < 0)
		return -errno;
	if (server.pid == 0) {
		if (!helper_process_begin("image-server", fds, 2))
			_exit(1);
		run(SOURCE_FD, LISTEN_FD, &server);
	}
	server.end_fd = fcntl(ours, F_DUPFD_CLOEXEC, 0);
	if (server.end_fd < 0)
		return -errno; /* the child sees that we have gone */
	server.fd = take_fd(&ours);
	*ret = server;
	return 0;
}

void image_server_wait(struct image_server *server, bool (*gives_up)(void))
{
	struct pollfd end = { server->end_fd, 0, 0 };

	if (server->pid <= 0 || server->end_fd < 0)
		return;
	/* An empty message: nothing more comes from us. Without it nothing can be waited for. */
	if (image_message_ask(server->end_fd, "", 0, 0) == 0)
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			if (gives_up())
				break;
	close(server->end_fd);
	server->end_fd = -1;
	waitpid(server->pid, NULL, WNOHANG);
}
