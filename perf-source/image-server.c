/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The server's life: an image is asked for by perf-source (image_open), opened by one of the
 * threads, told to perf-source (image_state), and handed to clients (image_request, answered by
 * image_state with a descriptor). A client that asks too early is answered when the image is
 * there: perf-source always asks before the image's number can be known to anybody else. It also
 * says when an image is no more (image_exit).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
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
#include <uthash.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/descriptor-limit.h"
#include "common/image-message.h"
#include "common/jitdump-path.h"
#include "common/wire.h"
#include "perf-source/image-opener.h"
#include "perf-source/image-server.h"

enum {
	MESSAGE_MAX = 4096 + 512,
	SERVED_IMAGES_MAX = 1 << 18, /* beyond that, requests are refused */
	SPARE_DESCRIPTORS = 128,
	RESERVED_MAX = 65536,  /* descriptors */
	SOURCE_PATIENCE_S = 2, /* of perf-source with a full socket */
	SOURCE_FD = 3,	       /* where the server has its two sockets */
	LISTEN_FD = 4,
};

struct served_image {
	UT_hash_handle hh;
	uint64_t number;
	struct wire_image_open request; /* its path is `path` */
	struct image_file file;
	enum { QUEUED, OPENING, READY, EVICTED } state;
	uint64_t deadline; /* of OPENING; of QUEUED if no opener is left to take it */
	bool is_told;	   /* perf-source knows its state */
	bool was_open;	   /* `file` tells size and change of what was opened */
	struct served_image *next_queued;
	struct served_image *newer, *older; /* of those with a descriptor, by last use */
	char path[];
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
	struct served_image *images;
	struct served_image *newest, *oldest;
	size_t n_open, n_open_max;
	struct client clients[IMAGE_SERVER_CLIENTS_MAX];
	size_t n_clients;
	uint64_t last_client; /* when it went */
	uint64_t next_check;  /* for files that take too long */
	bool any_untold;

	/* Shared with the threads that open files. */
	pthread_mutex_t mutex;
	pthread_cond_t more;
	struct served_image *queue, **queue_end;
	size_t n_openers;
	int done_fds[2]; /* struct done, from the threads */
};

/* What a thread has to say. It holds no pointer into the image, which may have been given up. */
struct done {
	uint64_t number;
	struct image_file file;
};

static uint64_t deadline_from_now(void)
{
	return clock_now(CLOCK_MONOTONIC) + IMAGE_SERVER_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
}

static void *open_files(void *arg)
{
	struct server *server = arg;

	for (;;) {
		_Alignas(8) char path[4097];
		struct wire_image_open request;
		struct done done;
		struct served_image *image;

		pthread_mutex_lock(&server->mutex);
		while (!server->queue)
			pthread_cond_wait(&server->more, &server->mutex);
		image = server->queue;
		server->queue = image->next_queued;
		if (!server->queue)
			server->queue_end = &server->queue;
		image->state = OPENING;
		image->deadline = deadline_from_now();
		request = image->request;
		snprintf(path, sizeof(path), "%s", image->path);
		request.path.data = path;
		pthread_mutex_unlock(&server->mutex);

		done.number = request.image;
		image_open(&request, &done.file);
		if (write(server->done_fds[1], &done, sizeof(done)) != sizeof(done))
			return NULL;
	}
}

static void add_opener(struct server *server)
{
	pthread_t thread;

	if (server->n_openers >= IMAGE_SERVER_OPENERS_MAX)
		return;
	if (pthread_create(&thread, NULL, open_files, server) == 0) {
		pthread_detach(thread);
		server->n_openers++;
	}
}

static void enqueue(struct server *server, struct served_image *image)
{
	pthread_mutex_lock(&server->mutex);
	image->state = QUEUED;
	image->deadline = deadline_from_now();
	image->next_queued = NULL;
	*server->queue_end = image;
	server->queue_end = &image->next_queued;
	pthread_cond_signal(&server->more);
	pthread_mutex_unlock(&server->mutex);
}

/* Takes an image out of the list of those with a descriptor. */
static void unlink_open(struct server *server, struct served_image *image)
{
	*(image->newer ? &image->newer->older : &server->newest) = image->older;
	*(image->older ? &image->older->newer : &server->oldest) = image->newer;
	image->newer = image->older = NULL;
}

static void link_newest(struct server *server, struct served_image *image)
{
	image->older = server->newest;
	*(image->older ? &image->older->newer : &server->oldest) = image;
	server->newest = image;
}

static void touch(struct server *server, struct served_image *image)
{
	unlink_open(server, image);
	link_newest(server, image);
}

static void close_image(struct server *server, struct served_image *image)
{
	unlink_open(server, image);
	close(image->file.fd);
	image->file.fd = -1;
	server->n_open--;
}

/* Keeps an image's descriptor, at the cost of the one that was not used for the longest time. */
static void keep_open(struct server *server, struct served_image *image)
{
	link_newest(server, image);
	if (++server->n_open <= server->n_open_max)
		return;
	image = server->oldest;
	close_image(server, image);
	image->state = EVICTED;
}

static struct wire_image_state state_of(const struct served_image *image)
{
	return (struct wire_image_state){
		.image = image->number,
		.status = image->file.status,
		.size = image->file.size,
		.modified = image->file.modified,
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

/* Whether an opened file is not what the image was; what grows by its nature still is. */
static bool is_another(const struct served_image *image)
{
	return image->file.fd >= 0 && !jitdump_path_is(image->path) &&
	       image_file_has_changed(&image->file);
}

static void answer(struct server *server, struct client *client, struct served_image *image)
{
	struct wire_image_state state;

	client->waits_for = 0;
	if (is_another(image)) {
		close_image(server, image); /* what it was is nowhere any more */
		image->file.status = WIRE_image_status_GONE;
	}
	if (image->file.fd >= 0)
		touch(server, image);
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

	if (image->is_told || server->source_fd < 0)
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
	HASH_ITER(hh, server->images, image, next)
	{
		if (image->state == READY)
			tell_source(server, image);
		if (server->any_untold) /* it takes no more now */
			return;
	}
}

static void settle(struct server *server, struct served_image *image)
{
	image->state = READY;
	if (image->file.fd >= 0)
		keep_open(server, image);
	tell_source(server, image);
	answer_waiting(server, image);
}

static struct served_image *find(struct server *server, uint64_t number)
{
	struct served_image *image;

	HASH_FIND(hh, server->images, &number, sizeof(number), image);
	return image;
}

/* A file that was closed to make room and has changed since is another image. */
static void check_unchanged(struct served_image *image, struct image_file *file)
{
	if (image->was_open && file->fd >= 0 && !jitdump_path_is(image->path) &&
	    (file->size != image->file.size || file->modified != image->file.modified)) {
		close(file->fd);
		*file = (struct image_file){ .fd = -1, .status = WIRE_image_status_GONE };
	}
	image->was_open |= file->fd >= 0;
}

static void take_done(struct server *server)
{
	struct served_image *image;
	struct done done;

	while (read(server->done_fds[0], &done, sizeof(done)) == sizeof(done)) {
		image = find(server, done.number);
		if (!image || image->state != OPENING) { /* it was given up as too slow */
			if (done.file.fd >= 0)
				close(done.file.fd);
			continue;
		}
		check_unchanged(image, &done.file);
		image->file = done.file;
		settle(server, image);
	}
}

static void dequeue(struct server *server, struct served_image *image)
{
	struct served_image **at = &server->queue;

	while (*at != image)
		at = &(*at)->next_queued;
	*at = image->next_queued;
	if (server->queue_end == &image->next_queued)
		server->queue_end = at;
}

/* One that waits in the queue is only too slow where every opener hangs, or none could be had. */
static bool is_too_slow(const struct server *server, const struct served_image *image, uint64_t now)
{
	bool waits = image->state == OPENING ||
		     (image->state == QUEUED &&
		      (server->n_openers == IMAGE_SERVER_OPENERS_MAX || server->n_openers == 0));

	return waits && now > image->deadline;
}

/* Takes an image that is too slow away from its opener or the queue. NULL: there is none. */
static struct served_image *take_slow(struct server *server, uint64_t now)
{
	struct served_image *image, *next, *slow = NULL;

	pthread_mutex_lock(&server->mutex);
	HASH_ITER(hh, server->images, image, next)
	{
		if (!is_too_slow(server, image, now))
			continue;
		slow = image;
		if (slow->state == QUEUED)
			dequeue(server, slow);
		slow->state = READY;
		break;
	}
	pthread_mutex_unlock(&server->mutex);
	return slow;
}

/* Gives up the images whose file systems keep their openers waiting. */
static void give_up_slow(struct server *server)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	struct served_image *image;

	if (now < server->next_check)
		return;
	server->next_check = now + IMAGE_SERVER_PATIENCE_MS / 4 * NANOSECONDS_A_MILLISECOND;
	while ((image = take_slow(server, now))) {
		image->file = (struct image_file){ .fd = -1, .status = WIRE_image_status_SLOW };
		settle(server, image);
		add_opener(server);
	}
}

/* perf-source knows that nobody has an image mapped any more, and nobody will ask for it again. */
static void forget_image(struct server *server, uint64_t number)
{
	struct served_image *image = find(server, number);

	if (!image || (image->state != READY && image->state != EVICTED))
		return; /* an opener has it */
	if (image->file.fd >= 0)
		close_image(server, image);
	HASH_DEL(server->images, image);
	free(image);
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
	struct served_image *image = find(server, request->image);

	if (image)
		return;
	if (HASH_COUNT(server->images) < SERVED_IMAGES_MAX)
		image = calloc(1, sizeof(*image) + request->path.size + 1);
	if (!image) {
		refuse(server, request->image);
		return;
	}
	image->number = request->image;
	image->request = *request;
	memcpy(image->path, request->path.data, request->path.size);
	image->file.fd = -1;
	HASH_ADD(hh, server->images, number, sizeof(image->number), image);
	enqueue(server, image);
}

static void take_from_source(struct server *server, const void *record, size_t size)
{
	struct wire_image_open request;
	struct wire_image_exit exit;

	if (!wire_decode(wire_type(WIRE_RECORD_image_open), record, size, 0, &request))
		take_open(server, &request);
	else if (!wire_decode(wire_type(WIRE_RECORD_image_exit), record, size, 0, &exit))
		forget_image(server, exit.image);
}

/* All that perf-source has said so far. */
static void read_source(struct server *server)
{
	_Alignas(8) char record[MESSAGE_MAX];
	ssize_t size;

	while (server->source_fd >= 0) {
		size = recv(server->source_fd, record, sizeof(record), MSG_DONTWAIT);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (size <= 0) {
			close(server->source_fd);
			server->source_fd = -1;
			server->last_client = clock_now(CLOCK_MONOTONIC);
			return;
		}
		take_from_source(server, record, size);
	}
}

static void take_request(struct server *server, struct client *client,
			 const struct wire_image_request *request)
{
	struct wire_image_state unknown = { request->image, WIRE_image_status_UNKNOWN, 0, 0 };
	struct served_image *image;

	read_source(server); /* what was asked for before this client could ask */
	image = find(server, request->image);
	if (!image || request->token_high != server->token_high ||
	    request->token_low != server->token_low) {
		if (image_message_send(client->fd, &unknown, -1) < 0)
			drop_client(server, client);
		return;
	}
	client->is_trusted = true;
	if (image->state == READY) {
		answer(server, client, image);
		return;
	}
	client->waits_for = image->number;
	if (image->state == EVICTED)
		enqueue(server, image);
}

static void read_client(struct server *server, struct client *client)
{
	_Alignas(8) char record[128];
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
	return server->source_fd < 0 && !count_trusted(server) &&
	       clock_now(CLOCK_MONOTONIC) - server->last_client >=
		       IMAGE_SERVER_GRACE_MS * NANOSECONDS_A_MILLISECOND;
}

static void serve(struct server *server)
{
	enum { SOURCE, LISTEN, DONE, CLIENTS };
	struct pollfd fds[CLIENTS + IMAGE_SERVER_CLIENTS_MAX];

	while (!is_over(server)) {
		size_t n_clients = server->n_clients;

		fds[SOURCE] = (struct pollfd){ server->source_fd, POLLIN, 0 };
		fds[LISTEN] = (struct pollfd){ server->listen_fd, POLLIN, 0 };
		fds[DONE] = (struct pollfd){ server->done_fds[0], POLLIN, 0 };
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
			take_done(server);
		give_up_slow(server);
		tell_untold(server);
	}
}

/*
 * Nothing of perf-source's may live on here: least of all its standard output, whose end is what
 * the next stage waits for. Signals of the terminal are perf-source's to act on.
 */
static void leave_parent(int source_fd, int listen_fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, "image-server");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	source_fd = fcntl(source_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
	listen_fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, LISTEN_FD + 1);
	dup2(source_fd, SOURCE_FD);
	dup2(listen_fd, LISTEN_FD);
	syscall(SYS_close_range, LISTEN_FD + 1, ~0U, 0);
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
		.listen_fd = listen_fd,
		.token_high = told->token_high,
		.token_low = told->token_low,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
	};
	rlim_t n_descriptors;

	server.queue_end = &server.queue;
	n_descriptors = descriptor_limit_raise();
	server.n_open_max = n_descriptors > 2 * SPARE_DESCRIPTORS
				    ? n_descriptors - SPARE_DESCRIPTORS
				    : SPARE_DESCRIPTORS;
	if (pipe2(server.done_fds, O_CLOEXEC) < 0 ||
	    fcntl(server.done_fds[0], F_SETFL, O_NONBLOCK) < 0)
		_exit(1);
	reserve_descriptors(server.n_open_max);
	add_opener(&server);
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
	int pair[2];

	if (listen_fd < 0)
		return listen_fd;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	/* A server that is stopped or starved must not stop who feeds it. */
	if (setsockopt(ours, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	server.pid = fork();
	if (server.pid < 0)
		return -errno;
	if (server.pid == 0) {
		leave_parent(theirs, listen_fd);
		run(SOURCE_FD, LISTEN_FD, &server);
	}
	server.fd = take_fd(&ours);
	*ret = server;
	return 0;
}

void image_server_wait(const struct image_server *server, bool (*gives_up)(void))
{
	while (server->pid > 0 && waitpid(server->pid, NULL, 0) < 0 && errno == EINTR)
		if (gives_up())
			return;
}
