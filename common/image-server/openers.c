/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/image-server/image-opener.h"
#include "common/image-server/openers.h"

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

/* The time limit is the same for all, so appending keeps a list in the order of deadlines. */
static void append(struct opening **list, struct opening *opening)
{
	opening->deadline =
		clock_now(CLOCK_MONOTONIC) + OPENERS_PATIENCE_MS * NANOSECONDS_A_MILLISECOND;
	DL_APPEND(*list, opening);
}

/* NULL: no memory. */
static struct openers_user *find_user(struct openers *openers, uid_t user)
{
	struct openers_user *found;

	HASH_FIND(hh, openers->users, &user, sizeof(user), found);
	if (found)
		return found;
	found = calloc(1, sizeof(*found));
	if (!found)
		return NULL;
	found->user = user;
	HASH_ADD(hh, openers->users, user, sizeof(found->user), found);
	if (HASH_HAS(hh, found))
		return found;
	free(found);
	return NULL;
}

/* Puts a user into the line or out of it, or frees it, whenever its openings or threads changed. */
static void settle_user(struct openers *openers, struct openers_user *user)
{
	bool any_waits = user->urgent || user->waiting;
	bool belongs = any_waits && user->n_threads < OPENERS_OF_USER_MAX;

	if (belongs && !user->is_in_line)
		DL_APPEND(openers->line, user);
	else if (!belongs && user->is_in_line)
		DL_DELETE(openers->line, user);
	user->is_in_line = belongs;
	if (any_waits || user->n_threads)
		return;
	HASH_DEL(openers->users, user);
	free(user);
}

static void put_waiting(struct openers *openers, struct opening *opening)
{
	append(opening->is_urgent ? &opening->of->urgent : &opening->of->waiting, opening);
	openers->n_waiting++;
}

static void take_waiting(struct openers *openers, struct opening *opening)
{
	if (opening->is_urgent)
		DL_DELETE(opening->of->urgent, opening);
	else
		DL_DELETE(opening->of->waiting, opening);
	openers->n_waiting--;
}

/* Takes the first opening of the next user, who moves to the end of the line. NULL: none. */
static struct opening *take_next(struct openers *openers)
{
	struct openers_user *user = openers->line;
	struct opening *opening;

	if (!user)
		return NULL;
	DL_DELETE(openers->line, user);
	user->is_in_line = false;
	opening = user->urgent ? user->urgent : user->waiting;
	take_waiting(openers, opening);
	user->n_threads++;
	settle_user(openers, user);
	return opening;
}

static struct opening *wait_for_one(struct openers *openers)
{
	struct opening *opening;

	pthread_mutex_lock(&openers->mutex);
	while (!(opening = take_next(openers)))
		pthread_cond_wait(&openers->more, &openers->mutex);
	append(&openers->running, opening);
	openers->n_running++;
	opening->state = OPENING_RUNS;
	pthread_mutex_unlock(&openers->mutex);
	return opening;
}

static void end(struct openers *openers, struct opening *opening)
{
	struct openers_user *user = opening->of;

	pthread_mutex_lock(&openers->mutex);
	if (opening->state == OPENING_GIVEN_UP) {
		DL_DELETE(openers->stuck, opening);
		openers->n_stuck--;
		user->n_stuck--;
	} else {
		DL_DELETE(openers->running, opening);
		openers->n_running--;
	}
	user->n_threads--;
	settle_user(openers, user);
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

/* On failure a later call may succeed, when an opening is abandoned. */
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

static bool is_stuck(const struct openers_user *user)
{
	return user->n_stuck >= OPENERS_OF_USER_MAX;
}

/* Whether another thread is useful and allowed: stuck threads do not count. */
static bool needs_thread(const struct openers *openers)
{
	size_t n_busy = openers->n_running + openers->n_stuck;
	size_t n_free = openers->n_threads > n_busy ? openers->n_threads - n_busy : 0;

	return openers->n_threads < openers->n_stuck + OPENERS_AT_ONCE &&
	       n_free < openers->n_waiting;
}

/* false: the user may have no more threads, or no memory. */
static bool add(struct openers *openers, struct opening *opening)
{
	struct openers_user *user = find_user(openers, opening->user);

	if (!user || is_stuck(user))
		return false;
	opening->state = OPENING_WAITS;
	opening->of = user;
	put_waiting(openers, opening);
	settle_user(openers, user);
	return true;
}

bool openers_add(struct openers *openers, struct opening *opening)
{
	bool is_taken, is_needed;

	pthread_mutex_lock(&openers->mutex);
	is_taken = add(openers, opening);
	is_needed = is_taken && needs_thread(openers);
	if (is_taken)
		pthread_cond_signal(&openers->more);
	pthread_mutex_unlock(&openers->mutex);
	if (!is_taken)
		opening_free(opening);
	if (is_needed)
		add_thread(openers);
	return is_taken;
}

void openers_hurry(struct openers *openers, struct opening *opening)
{
	pthread_mutex_lock(&openers->mutex);
	if (opening->state == OPENING_WAITS && !opening->is_urgent) {
		take_waiting(openers, opening);
		opening->is_urgent = true;
		put_waiting(openers, opening);
	}
	pthread_mutex_unlock(&openers->mutex);
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

/* The thread finishes the opening when the file system answers. */
static void give_up_running(struct openers *openers, struct opening *opening)
{
	DL_DELETE(openers->running, opening);
	openers->n_running--;
	DL_APPEND(openers->stuck, opening);
	openers->n_stuck++;
	opening->of->n_stuck++;
	opening->state = OPENING_GIVEN_UP;
}

static void give_up_waiting(struct openers *openers, struct opening *opening)
{
	take_waiting(openers, opening);
	settle_user(openers, opening->of);
	opening_free(opening);
}

static struct opening *find_slow_of(const struct openers_user *user, uint64_t now)
{
	if (is_too_slow(user->urgent, now))
		return user->urgent;
	return is_too_slow(user->waiting, now) ? user->waiting : NULL;
}

/*
 * A waiting opening is overdue only if all threads of its user are stuck, if there are OPENERS_MAX
 * threads, or if none could be started.
 */
static struct opening *find_slow_waiting(const struct openers *openers, uint64_t now)
{
	bool any_ready = openers->n_threads > 0 && openers->n_threads < OPENERS_MAX;
	struct opening *stuck, *opening = NULL;
	struct openers_user *user, *next;

	DL_FOREACH(openers->stuck, stuck)
	if (is_stuck(stuck->of) && (opening = find_slow_of(stuck->of, now)))
		return opening;
	if (any_ready)
		return NULL;
	HASH_ITER(hh, openers->users, user, next)
	if ((opening = find_slow_of(user, now)))
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
