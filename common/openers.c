/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/image-opener.h"
#include "common/openers.h"

static struct opening *new_opening(uint64_t image, size_t path_size)
{
	struct opening *opening = calloc(1, sizeof(*opening) + path_size + 1);

	if (!opening)
		return NULL;
	opening->image = image;
	opening->process.root_fd = -1;
	opening->file.fd = -1;
	return opening;
}

struct opening *opening_new_file(const struct wire_image_open *request)
{
	struct opening *opening = new_opening(request->image, request->path.size);

	if (!opening)
		return NULL;
	opening->kind = OPENING_FILE;
	opening->request = *request;
	memcpy(opening->path, request->path.data, request->path.size);
	opening->request.path.data = opening->path;
	return opening;
}

struct opening *opening_new_map(uint64_t image, const struct map_process *process)
{
	_cleanup_fd_ int root_fd = process->root_fd;
	size_t path_size = process->path ? strlen(process->path) : 0;
	struct opening *opening = new_opening(image, path_size);

	if (!opening)
		return NULL;
	opening->kind = OPENING_MAP;
	opening->process = *process;
	if (process->path)
		opening->process.path = memcpy(opening->path, process->path, path_size + 1);
	take_fd(&root_fd);
	return opening;
}

void opening_free(struct opening *opening)
{
	if (opening->process.root_fd >= 0)
		close(opening->process.root_fd);
	if (opening->file.fd >= 0)
		close(opening->file.fd);
	free(opening);
}

/* Lists are in the order of their deadlines, as all have the same patience. */
static void append(struct opening **list, struct opening *opening)
{
	opening->deadline =
		clock_now(CLOCK_MONOTONIC) + OPENERS_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
	DL_APPEND(*list, opening);
}

static struct opening *wait_for_one(struct openers *openers)
{
	struct opening *opening;

	pthread_mutex_lock(&openers->mutex);
	while (!openers->waiting)
		pthread_cond_wait(&openers->more, &openers->mutex);
	opening = openers->waiting;
	DL_DELETE(openers->waiting, opening);
	append(&openers->running, opening);
	opening->state = OPENING_RUNS;
	pthread_mutex_unlock(&openers->mutex);
	return opening;
}

static void *open_all(void *arg)
{
	struct openers *openers = arg;
	struct opening *opening;

	do {
		opening = wait_for_one(openers);
		if (opening->kind == OPENING_FILE)
			image_open(&opening->request, &opening->file);
		else
			map_open(&opening->process, &opening->file);
	} while (write(openers->done_fds[1], &opening, sizeof(opening)) == sizeof(opening));
	return NULL;
}

/* If it cannot be had now, perhaps it can when another one is given up. */
static void add_thread(struct openers *openers)
{
	pthread_t thread;

	if (openers->n_threads >= OPENERS_MAX)
		return;
	if (pthread_create(&thread, NULL, open_all, openers) == 0) {
		pthread_detach(thread);
		openers->n_threads++;
	}
}

int openers_init(struct openers *openers)
{
	*openers = (struct openers){
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
	};
	if (pipe2(openers->done_fds, O_CLOEXEC) < 0 ||
	    fcntl(openers->done_fds[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

void openers_add(struct openers *openers, struct opening *opening)
{
	pthread_mutex_lock(&openers->mutex);
	opening->state = OPENING_WAITS;
	append(&openers->waiting, opening);
	pthread_cond_signal(&openers->more);
	pthread_mutex_unlock(&openers->mutex);
	if (!openers->n_threads)
		add_thread(openers);
}

struct opening *openers_take_done(struct openers *openers)
{
	struct opening *opening;

	if (read(openers->done_fds[0], &opening, sizeof(opening)) != sizeof(opening))
		return NULL;
	pthread_mutex_lock(&openers->mutex);
	if (opening->state == OPENING_RUNS)
		DL_DELETE(openers->running, opening);
	pthread_mutex_unlock(&openers->mutex);
	return opening;
}

static bool is_too_slow(const struct opening *first, uint64_t now)
{
	return first && now > first->deadline;
}

/* Its thread gives it back when the file system has answered. */
static void give_up_running(struct openers *openers, struct opening *opening)
{
	DL_DELETE(openers->running, opening);
	opening->state = OPENING_GIVEN_UP;
}

static void give_up_waiting(struct openers *openers, struct opening *opening)
{
	DL_DELETE(openers->waiting, opening);
	opening_free(opening);
}

/* One that waits is only too slow where every thread hangs, or none could be had. */
static bool give_up_first(struct openers *openers, uint64_t now, uint64_t *ret_image)
{
	bool any_ready = openers->n_threads > 0 && openers->n_threads < OPENERS_MAX;

	if (is_too_slow(openers->running, now)) {
		*ret_image = openers->running->image;
		give_up_running(openers, openers->running);
		return true;
	}
	if (any_ready || !is_too_slow(openers->waiting, now))
		return false;
	*ret_image = openers->waiting->image;
	give_up_waiting(openers, openers->waiting);
	return true;
}

bool openers_give_up_slow(struct openers *openers, uint64_t now, uint64_t *ret_image)
{
	bool any;

	pthread_mutex_lock(&openers->mutex);
	any = give_up_first(openers, now, ret_image);
	pthread_mutex_unlock(&openers->mutex);
	if (any)
		add_thread(openers);
	return any;
}
