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

static struct opening *new_opening(uint64_t image, uid_t user, size_t path_size)
{
	struct opening *opening = calloc(1, sizeof(*opening) + path_size + 1);

	if (!opening)
		return NULL;
	opening->image = image;
	opening->user = user;
	opening->process.root_fd = -1;
	opening->file.fd = -1;
	return opening;
}

struct opening *opening_new_file(const struct wire_image_open *request, uid_t user)
{
	struct opening *opening = new_opening(request->image, user, request->path.size);

	if (!opening)
		return NULL;
	opening->kind = OPENING_FILE;
	opening->request = *request;
	memcpy(opening->path, request->path.data, request->path.size);
	opening->request.path.data = opening->path;
	return opening;
}

struct opening *opening_new_map(uint64_t image, const struct map_process *process, uid_t user)
{
	_cleanup_fd_ int root_fd = process->root_fd;
	size_t path_size = process->path ? strlen(process->path) : 0;
	struct opening *opening = new_opening(image, user, path_size);

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
	image_file_close(&opening->file);
	free(opening);
}

/* Lists are in the order of their deadlines, as all have the same patience. */
static void append(struct opening **list, struct opening *opening)
{
	opening->deadline =
		clock_now(CLOCK_MONOTONIC) + OPENERS_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
	DL_APPEND(*list, opening);
}

static size_t count(const struct opening *list)
{
	const struct opening *opening;
	size_t n;

	DL_COUNT(list, opening, n);
	return n;
}

static size_t count_of_user(const struct opening *list, uid_t user)
{
	const struct opening *opening;
	size_t n = 0;

	DL_FOREACH(list, opening)
	n += opening->user == user;
	return n;
}

/*
 * The first whose user may have one more thread; NULL: none. Of a user who may not, thousands may
 * wait one after the other.
 */
static struct opening *find_next(const struct openers *openers)
{
	const struct opening *passed_by = NULL;
	struct opening *opening;

	DL_FOREACH(openers->waiting, opening)
	{
		if (passed_by && passed_by->user == opening->user)
			continue;
		if (count_of_user(openers->running, opening->user) +
			    count_of_user(openers->stuck, opening->user) <
		    OPENERS_OF_USER_MAX)
			return opening;
		passed_by = opening;
	}
	return NULL;
}

static struct opening *wait_for_one(struct openers *openers)
{
	struct opening *opening;

	pthread_mutex_lock(&openers->mutex);
	while (!(opening = find_next(openers)))
		pthread_cond_wait(&openers->more, &openers->mutex);
	DL_DELETE(openers->waiting, opening);
	append(&openers->running, opening);
	opening->state = OPENING_RUNS;
	pthread_mutex_unlock(&openers->mutex);
	return opening;
}

static void end(struct openers *openers, struct opening *opening)
{
	pthread_mutex_lock(&openers->mutex);
	if (opening->state == OPENING_GIVEN_UP)
		DL_DELETE(openers->stuck, opening);
	else
		DL_DELETE(openers->running, opening);
	pthread_mutex_unlock(&openers->mutex);
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
		if (opening->file.is_path)
			image_file_copy(&opening->file, &openers->copies, opening->user);
		end(openers, opening);
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
		.copies = COPY_SHARES_INIT,
	};
	if (pipe2(openers->done_fds, O_CLOEXEC) < 0 ||
	    fcntl(openers->done_fds[0], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static bool is_stuck(const struct openers *openers, uid_t user)
{
	return count_of_user(openers->stuck, user) >= OPENERS_OF_USER_MAX;
}

/* Those that neither open anything nor are stuck. */
static size_t count_free(const struct openers *openers)
{
	size_t n_busy = count(openers->running) + count(openers->stuck);

	return openers->n_threads > n_busy ? openers->n_threads - n_busy : 0;
}

/* Whether one more is of use, and may be had: those that are stuck do not count. */
static bool needs_thread(const struct openers *openers)
{
	return openers->n_threads < count(openers->stuck) + OPENERS_AT_ONCE &&
	       count_free(openers) < count(openers->waiting);
}

bool openers_add(struct openers *openers, struct opening *opening)
{
	bool is_refused, is_needed = false;

	pthread_mutex_lock(&openers->mutex);
	is_refused = is_stuck(openers, opening->user);
	if (!is_refused) {
		opening->state = OPENING_WAITS;
		append(&openers->waiting, opening);
		is_needed = needs_thread(openers);
		pthread_cond_signal(&openers->more);
	}
	pthread_mutex_unlock(&openers->mutex);
	if (is_refused)
		opening_free(opening);
	if (is_needed)
		add_thread(openers);
	return !is_refused;
}

struct opening *openers_take_done(struct openers *openers)
{
	struct opening *opening;

	if (read(openers->done_fds[0], &opening, sizeof(opening)) != sizeof(opening))
		return NULL;
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
	DL_APPEND(openers->stuck, opening);
	opening->state = OPENING_GIVEN_UP;
}

static void give_up_waiting(struct openers *openers, struct opening *opening)
{
	DL_DELETE(openers->waiting, opening);
	opening_free(opening);
}

/*
 * One that waits is only too slow where all threads are stuck that its user may have, or that there
 * may be, or none could be had.
 */
static struct opening *find_slow_waiting(const struct openers *openers, uint64_t now)
{
	bool any_ready = openers->n_threads > 0 && openers->n_threads < OPENERS_MAX;
	struct opening *opening;

	DL_FOREACH(openers->waiting, opening)
	if (is_too_slow(opening, now) && (!any_ready || is_stuck(openers, opening->user)))
		return opening;
	return NULL;
}

static bool give_up_first(struct openers *openers, uint64_t now, struct opening_given_up *ret)
{
	struct opening *waiting;

	if (is_too_slow(openers->running, now)) {
		*ret = (struct opening_given_up){ openers->running->image, true };
		give_up_running(openers, openers->running);
		return true;
	}
	waiting = find_slow_waiting(openers, now);
	if (!waiting)
		return false;
	*ret = (struct opening_given_up){ waiting->image, false };
	give_up_waiting(openers, waiting);
	return true;
}

bool openers_give_up_slow(struct openers *openers, uint64_t now, struct opening_given_up *ret)
{
	bool any, is_needed;

	pthread_mutex_lock(&openers->mutex);
	any = give_up_first(openers, now, ret);
	is_needed = any && needs_thread(openers);
	pthread_mutex_unlock(&openers->mutex);
	if (is_needed)
		add_thread(openers);
	return any;
}
