/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The images of the image server and their descriptors: of files, and of perf maps under the
 * numbers of anonymous images or IMAGE_MESSAGE_MAP_OF. Threads open them (openers.h).
 *
 * The number of descriptors is limited: the least recently used one is closed. A file is reopened
 * on request, and is GONE if it has changed by then. A missing map is looked for at each request,
 * because a JIT compiler may write it at any time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash-table.h"
#include "common/base/lru.h"
#include "common/image-server/image-file.h"
#include "common/image-server/openers.h"
#include "common/wire/wire.h"

enum {
	IMAGE_STORE_MAX = 1 << 18,
	IMAGE_STORE_ROOTS_MAX = 1024, /* roots of processes, to find their maps below */
	IMAGE_STORE_ROOTS_PART = 4,   /* at most one in this many descriptors is a root */
};

struct stored_image {
	UT_hash_handle hh;
	uint64_t number;
	enum opening_kind kind;
	struct image_file file;
	enum { SERVED_OPENING, SERVED_READY, SERVED_EVICTED } state;
	bool is_reported; /* for the server's use */

	/* Private to image-store.c. */
	struct wire_image_open request; /* of a file; its path is `path` */
	struct map_process process;	/* of a map, except while it is being opened */
	uid_t user;			/* accountable user of its process */
	struct opening *opening;	/* while openers.h has it */
	bool is_stuck;			/* an abandoned thread is blocked on it */
	bool was_open;			/* `file` has the state of the file once opened */
	bool is_over;			/* to be freed as soon as it has been opened */
	struct lru_link used;		/* while it has a descriptor */
	struct lru_link root_used;	/* while it has a root */
	char path[];
};

struct image_store {
	struct stored_image *by_number;
	struct lru open, roots;			/* images with a descriptor, or a root */
	size_t n_open, n_open_max, n_roots_max; /* n_open: descriptors */
	uint64_t next_check;			/* for overdue openings */
	struct openers openers;
	struct {
		uint32_t pid;
		uid_t user;
		uint64_t until;
	} last; /* the process looked up last; valid for a moment */
	void (*on_ready)(struct stored_image *image, void *arg);
	void *arg;
};

/*
 * `n_descriptors` may be used. `on_ready` is called for each image that becomes ready, by the
 * functions that refer to it. The threads stay until the process ends. 0 or -errno.
 */
int image_store_init(struct image_store *images, size_t n_descriptors,
		     void (*on_ready)(struct stored_image *image, void *arg), void *arg);

/* NULL: unknown number. */
struct stored_image *image_store_find(const struct image_store *images, uint64_t number);

/* Adds an image and opens it (on_ready). NULL: no room. */
struct stored_image *image_store_add_file(struct image_store *images,
					  const struct wire_image_open *request);
struct stored_image *image_store_add_map(struct image_store *images,
					 const struct wire_map_open *request);

/* The same for a file at `path` below the root of the process. */
struct stored_image *image_store_add_below_root(struct image_store *images,
						const struct wire_map_open *request,
						const char *path);

/* Opens an image if necessary. false: it is ready; true: on_ready will be, or was just, called. */
bool image_store_open(struct image_store *images, struct stored_image *image);

/* Marks a ready image as used; it may turn out to be GONE. */
void image_store_use(struct image_store *images, struct stored_image *image);

/* The file of an image was written to: its old content is GONE for all who have not opened it. */
void image_store_replaced(struct image_store *images, struct stored_image *image);

/* The image will not be requested again. */
void image_store_forget(struct image_store *images, struct stored_image *image);

/* Call when openers.done_fds[0] is readable, and periodically (on_ready). */
void image_store_take_done(struct image_store *images);
void image_store_give_up_slow(struct image_store *images);
