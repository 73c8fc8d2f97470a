/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/image-server/image-store.h"
#include "common/proc/task-user.h"
#include "common/stream/jitdump-path.h"

enum { USER_STAYS_MS = 20 };

int image_store_init(struct image_store *images, size_t n_descriptors,
		     void (*on_ready)(struct stored_image *image, void *arg), void *arg)
{
	size_t n_roots_max = n_descriptors / IMAGE_STORE_ROOTS_PART;

	if (n_roots_max > IMAGE_STORE_ROOTS_MAX)
		n_roots_max = IMAGE_STORE_ROOTS_MAX;
	*images = (struct image_store){
		.n_open_max = n_descriptors - n_roots_max,
		.n_roots_max = n_roots_max,
		.on_ready = on_ready,
		.arg = arg,
	};
	return openers_init(&images->openers);
}

/* A copy also has its original's descriptor. */
static size_t count_descriptors(const struct image_file *file)
{
	return file->original ? 2 : 1;
}

static void close_file(struct image_store *images, struct stored_image *image)
{
	lru_remove(&images->open, &image->used);
	images->n_open -= count_descriptors(&image->file);
	image_file_close(&image->file);
}

/* It can be reopened: a file if it is unchanged, a map as if it had not been found yet. */
static void evict(struct image_store *images, struct stored_image *image)
{
	close_file(images, image);
	if (image->kind == OPENING_FILE)
		image->state = SERVED_EVICTED;
	else
		image->file.status = WIRE_image_status_GONE;
}

/* Keeps an image's descriptor; evicts the least recently used ones. */
static void keep_open(struct image_store *images, struct stored_image *image)
{
	lru_add(&images->open, &image->used, image);
	images->n_open += count_descriptors(&image->file);
	while (images->n_open > images->n_open_max)
		evict(images, lru_oldest(&images->open));
}

/* Moves a map's process out of its image: the caller owns its root. */
static struct map_process take_process(struct image_store *images, struct stored_image *image)
{
	struct map_process process = image->process;

	if (process.root_fd < 0)
		return process;
	lru_remove(&images->roots, &image->root_used);
	image->process.root_fd = -1;
	return process;
}

static void close_root(struct image_store *images, struct stored_image *image)
{
	struct map_process process = take_process(images, image);

	if (process.root_fd >= 0)
		close(process.root_fd);
}

/* Keeps a root; closes the least recently used one. */
static void keep_process(struct image_store *images, struct stored_image *image,
			 const struct map_process *process)
{
	image->process = *process;
	if (process->root_fd < 0)
		return;
	lru_add(&images->roots, &image->root_used, image);
	if (images->roots.n <= images->n_roots_max)
		return;
	image = lru_oldest(&images->roots);
	close_root(images, image);
	if (image->file.fd < 0) /* without its root it never will have a descriptor */
		image->file.status = WIRE_image_status_REFUSED;
}

struct stored_image *image_store_find(const struct image_store *images, uint64_t number)
{
	struct stored_image *image;

	HASH_FIND(hh, images->by_number, &number, sizeof(number), image);
	return image;
}

static void forget(struct image_store *images, struct stored_image *image)
{
	if (image->file.fd >= 0)
		close_file(images, image);
	close_root(images, image);
	HASH_DEL(images->by_number, image);
	free(image);
}

void image_store_forget(struct image_store *images, struct stored_image *image)
{
	image->is_over = true;
	if (image->state != SERVED_OPENING) /* else a client may wait for it */
		forget(images, image);
}

static void settle(struct image_store *images, struct stored_image *image)
{
	image->state = SERVED_READY;
	if (image->file.fd >= 0)
		keep_open(images, image);
	images->on_ready(image, images->arg);
	if (image->is_over)
		forget(images, image);
}

/* NULL: no memory. */
static struct opening *new_opening(struct image_store *images, struct stored_image *image)
{
	struct map_process process;

	if (image->kind == OPENING_FILE)
		return opening_new_file(&image->request, image->user);
	process = take_process(images, image);
	return opening_new_map(image->number, &process, image->user);
}

static void start_opening(struct image_store *images, struct stored_image *image)
{
	struct opening *opening = new_opening(images, image);

	image->state = SERVED_OPENING;
	image->file.status = opening ? WIRE_image_status_SLOW : WIRE_image_status_REFUSED;
	if (opening && openers_add(&images->openers, opening))
		image->opening = opening;
	else /* there was no memory, or the queue is full and the opening freed */
		settle(images, image);
}

/* Caches the user, because a process may map thousands of files. */
static uid_t find_user(struct image_store *images, uint32_t pid)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (pid != images->last.pid || now >= images->last.until) {
		images->last.pid = pid;
		images->last.user = task_user(pid);
		images->last.until = now + USER_STAYS_MS * NANOSECONDS_A_MILLISECOND;
	}
	return images->last.user;
}

static struct stored_image *add(struct image_store *images, uint64_t number, size_t path_size)
{
	struct stored_image *image;

	if (HASH_COUNT(images->by_number) >= IMAGE_STORE_MAX)
		return NULL;
	image = calloc(1, sizeof(*image) + path_size + 1);
	if (!image)
		return NULL;
	image->number = number;
	image->file.fd = image->process.root_fd = -1;
	HASH_ADD(hh, images->by_number, number, sizeof(image->number), image);
	if (HASH_HAS(hh, image))
		return image;
	free(image);
	return NULL;
}

struct stored_image *image_store_add_file(struct image_store *images,
					  const struct wire_image_open *request)
{
	struct stored_image *image = add(images, request->image, request->path.size);

	if (!image)
		return NULL;
	image->kind = OPENING_FILE;
	image->user = find_user(images, request->pid);
	image->request = *request;
	memcpy(image->path, request->path.data, request->path.size);
	image->request.path.data = image->path;
	start_opening(images, image);
	return image;
}

struct stored_image *image_store_add_map(struct image_store *images,
					 const struct wire_map_open *request)
{
	struct stored_image *image = add(images, request->image, 0);

	if (!image)
		return NULL;
	image->kind = OPENING_MAP;
	image->process.pid = request->pid;
	image->user = find_user(images, request->pid);
	image->process.began = request->began;
	start_opening(images, image);
	return image;
}

struct stored_image *image_store_add_below_root(struct image_store *images,
						const struct wire_map_open *request,
						const char *path)
{
	struct stored_image *image = add(images, request->image, strlen(path));

	if (!image)
		return NULL;
	image->kind = OPENING_MAP;
	image->process.pid = request->pid;
	image->user = find_user(images, request->pid);
	image->process.path = strcpy(image->path, path);
	start_opening(images, image);
	return image;
}

/*
 * Not enough: a map that may have been written since, if the root of its process is known; or a
 * file of a user whose files all hung, if it was not tried since.
 */
static bool is_enough(const struct stored_image *image)
{
	bool may_come = image->kind == OPENING_MAP
				? image->file.fd < 0 && image->process.root_fd >= 0
				: image->file.status == WIRE_image_status_SLOW && !image->is_stuck;

	return image->state == SERVED_READY && !may_come;
}

bool image_store_open(struct image_store *images, struct stored_image *image)
{
	if (is_enough(image))
		return false;
	if (image->state != SERVED_OPENING)
		start_opening(images, image);
	if (image->opening)
		openers_hurry(&images->openers, image->opening);
	return true;
}

/* A jitdump or perf map grows without becoming another image. */
static bool may_grow(const struct stored_image *image)
{
	return image->kind != OPENING_FILE || jitdump_path_is(image->path);
}

static bool has_changed(struct stored_image *image)
{
	return image->file.fd >= 0 && !may_grow(image) && image_file_has_changed(&image->file);
}

void image_store_replaced(struct image_store *images, struct stored_image *image)
{
	if (image->kind != OPENING_FILE || may_grow(image))
		return;
	if (image->file.fd >= 0)
		close_file(images, image);
	if (image->state == SERVED_EVICTED)
		image->state = SERVED_READY;
	image->file.status = WIRE_image_status_GONE; /* the old content no longer exists */
}

void image_store_use(struct image_store *images, struct stored_image *image)
{
	if (has_changed(image))
		image_store_replaced(images, image);
	lru_use(&images->open, &image->used);
}

/* A file that was closed to make room, and changed since, is another image. */
static void check_unchanged(struct stored_image *image, struct image_file *file)
{
	if (image->was_open && file->fd >= 0 && !may_grow(image) &&
	    file_state_may_differ(&image->file.state, &file->state)) {
		image_file_close(file);
		*file = (struct image_file){ .fd = -1, .status = WIRE_image_status_GONE };
	}
	image->was_open |= file->fd >= 0;
}

/*
 * If two processes have found the same map, it belongs to the one that writes it, or, if that is
 * undecidable, to none. Descriptors already sent cannot be revoked.
 */
static void distinguish_maps(struct image_store *images, struct stored_image *image)
{
	struct image_file nothing = { .fd = -1, .status = WIRE_image_status_STALE };
	struct stored_image *other, *next;
	bool is_of_other = false;

	HASH_ITER(hh, images->by_number, other, next)
	{
		if (other->kind != OPENING_MAP || other == image)
			continue;
		is_of_other |= map_is_of_other(&image->process, &other->process);
		if (other->file.fd >= 0 && map_is_of_other(&other->process, &image->process)) {
			close_file(images, other);
			other->file = nothing;
		}
	}
	if (is_of_other) {
		image_file_close(&image->file);
		image->file = nothing;
	}
}

/*
 * Takes the result of an opening. If an abandoned one succeeds late, its state is reported again,
 * and the next request gets the file.
 */
static void adopt(struct image_store *images, struct stored_image *image, struct opening *opening)
{
	image->opening = NULL;
	image->is_stuck = false;
	if (image->kind == OPENING_FILE) {
		bool was_slow = image->file.status == WIRE_image_status_SLOW;

		if (image->state != SERVED_OPENING && !was_slow)
			return;
		check_unchanged(image, &opening->file);
		image->is_reported &= !was_slow;
	} else if (!image->process.path) { /* other files exist by now, or not at all */
		keep_process(images, image, &opening->process);
		opening->process.root_fd = -1;
	}
	image->file = opening->file;
	opening->file = (struct image_file){ .fd = -1 };
	if (image->kind == OPENING_MAP && image->file.fd >= 0)
		distinguish_maps(images, image);
	settle(images, image);
}

void image_store_take_done(struct image_store *images)
{
	struct stored_image *image;
	struct opening *opening;

	while ((opening = openers_take_done(&images->openers))) {
		image = image_store_find(images, opening->image);
		if (image)
			adopt(images, image, opening);
		opening_free(opening);
	}
}

void image_store_give_up_slow(struct image_store *images)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	struct opening_given_up given_up;
	struct stored_image *image;

	if (now < images->next_check)
		return;
	images->next_check = now + OPENERS_PATIENCE_MS / 4 * NANOSECONDS_A_MILLISECOND;
	while (openers_give_up_slow(&images->openers, now, &given_up)) {
		image = image_store_find(images, given_up.image);
		if (!image)
			continue;
		image->file = (struct image_file){ .fd = -1, .status = WIRE_image_status_SLOW };
		image->is_stuck = given_up.is_stuck;
		image->opening = NULL;
		settle(images, image);
	}
}
