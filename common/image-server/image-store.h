/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The images that the image server knows, and their descriptors: of files, and of perf maps, which
 * are had by the numbers of anonymous images, or IMAGE_MESSAGE_MAP_OF. They are opened by threads
 * (common/image-server/openers.h).
 *
 * Of descriptors there are only so many: what was not used for the longest time is closed. A file
 * is opened again when it is asked for, and is gone if it is another one by then. A map is looked
 * for whenever it is asked for, until it is there: a JIT compiler writes it when it pleases.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash-table.h"
#include "common/base/lru.h"
#include "common/image-server/image-file.h"
#include "common/wire/wire.h"
#include "common/image-server/openers.h"

enum {
	IMAGE_STORE_MAX = 1 << 18,
	IMAGE_STORE_ROOTS_MAX = 1024, /* of processes, to look for their maps below */
	IMAGE_STORE_ROOTS_PART = 4,   /* at most one of so many descriptors is a root */
};

struct stored_image {
	UT_hash_handle hh;
	uint64_t number;
	enum opening_kind kind;
	struct image_file file;
	enum { SERVED_OPENING, SERVED_READY, SERVED_EVICTED } state;
	bool is_reported; /* for the server's use */

	/* Nobody else's business. */
	struct wire_image_open request; /* of a file; its path is `path` */
	struct map_process process;	/* of a map, but for while it is being opened */
	uid_t user;			/* who answers for its process */
	struct opening *opening;	/* while the openers have it */
	bool is_stuck;			/* a thread that was given up has it */
	bool was_open;			/* `file` tells size and change of what was opened */
	bool is_over;			/* nobody needs it when it has been opened */
	struct lru_link used;		/* while it has a descriptor */
	struct lru_link root_used;	/* while it has a root */
	char path[];
};

struct image_store {
	struct stored_image *by_number;
	struct lru open, roots;			/* those with a descriptor, or a root */
	size_t n_open, n_open_max, n_roots_max; /* n_open: descriptors */
	uint64_t next_check;			/* for files that take too long */
	struct openers openers;
	struct {
		uint32_t pid;
		uid_t user;
		uint64_t until;
	} last; /* whose files were opened, for a moment */
	void (*on_ready)(struct stored_image *image, void *arg);
	void *arg;
};

/*
 * `n_descriptors` may be used. `on_ready` is told of each image that has become ready, by the
 * functions that say so. They stay until the process ends. 0 or -errno.
 */
int image_store_init(struct image_store *images, size_t n_descriptors,
		     void (*on_ready)(struct stored_image *image, void *arg), void *arg);

/* NULL: it is not known. */
struct stored_image *image_store_find(const struct image_store *images, uint64_t number);

/* A new one, which is opened at once (on_ready). NULL: there is no room. */
struct stored_image *image_store_add_file(struct image_store *images,
					  const struct wire_image_open *request);
struct stored_image *image_store_add_map(struct image_store *images,
					 const struct wire_map_open *request);

/* Likewise, a file at `path` below the root of the process. */
struct stored_image *image_store_add_below_root(struct image_store *images,
						const struct wire_map_open *request,
						const char *path);

/*
 * Opens an image if that is needed. false: it is ready as it is; true: on_ready tells when it is,
 * or has just told it.
 */
bool image_store_open(struct image_store *images, struct stored_image *image);

/* One that is ready is used: it may be found to be gone. */
void image_store_use(struct image_store *images, struct stored_image *image);

/*
 * The file of an image was written to: what the image was cannot be had any more, by whoever has
 * not opened it yet.
 */
void image_store_replaced(struct image_store *images, struct stored_image *image);

/* Nobody will ask for it again. */
void image_store_forget(struct image_store *images, struct stored_image *image);

/* To be called when openers.done_fds[0] can be read, and now and then (on_ready). */
void image_store_take_done(struct image_store *images);
void image_store_give_up_slow(struct image_store *images);
