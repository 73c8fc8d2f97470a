/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The unwind tables of images, each made when a sample first needs it: small ones at once, large
 * ones by a thread of their own, from bytes that were read for it. What is on disk already is not
 * made.
 */
#pragma once

#include <pthread.h>

#include "common/elf/elf-cache.h"
#include "common/base/lru.h"
#include "common/base/pair-map.h"
#include "common/unwind/same-file.h"
#include "common/unwind/unwind-source.h"
#include "live-unwinder/user-rules.h"
#include "common/unwind/table-cache.h"

enum {
	/* Of unwind information: more of it, and samples need not wait. About 4 ms of work. */
	TABLE_STORE_LARGE = 256 * 1024,
	/* Bytes of all tables: beyond that those go that nobody has asked for lately. */
	TABLE_STORE_SIZE_MAX = 96 * 1024 * 1024,
};

/* A file is written to at most so long behind the samples that it is asked for. */
#define TABLE_STORE_WRITTEN_WITHIN_NS 10000000000ULL

/* What is known of an image's table. */
enum table_state {
	TABLE_READY,
	TABLE_PENDING,	/* ask again */
	TABLE_NO_FILE,	/* the image has no file, or it cannot be had, or is no ELF file */
	TABLE_UNUSABLE, /* there is information that no table can be made of */
};

struct stored_table {
	uint64_t number; /* of the image */
	struct unwind_table table;
	struct image_user_rules user_rules; /* believed before the table, which may not be there */
	struct cached_table_file cached; /* where the table's bytes are, unless they are its own */
	uint32_t id;			 /* unique, never 0 */
	uint64_t not_before;		 /* elf_cache_not_before() */
	enum table_state state;
	enum wire_stack_end end;   /* of a stack whose last frame is in an image without a file */
	const struct image *image; /* NULL: the stream has not told it */
	struct table_job *job;	   /* that makes the table, NULL: none */
	uint64_t same_as;	   /* image with the same file, whose entry is used; 0: none */
	size_t size;		   /* of the table in bytes, as far as it counts */
	struct lru_link used;	   /* while it has a size */
};

/* What to do while a large table is made. */
enum table_patience {
	TABLE_STORE_WAIT, /* a recorded stream: its answers do not depend on how fast we are */
	TABLE_STORE_DO_WITHOUT, /* a live one: elfutils helps out */
};

struct table_store {
	struct elf_cache *files;	     /* borrowed */
	const struct table_cache *cache;     /* borrowed */
	const struct user_rules *user_rules; /* borrowed; NULL: a person has given no rules */
	enum table_patience patience;
	struct pair_map by_image; /* (image, 0) → struct stored_table * */
	struct same_files same_files;
	uint32_t n;
	size_t size, size_max; /* of all of them */
	struct lru used;       /* entries that have a size */
	uint64_t n_removed;    /* of tables: whoever keeps pointers to entries asks again */
	uint64_t *n_compiled, *n_from_disk, *n_evicted; /* counters of the stage */

	/* Shared with the thread. */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct table_job *queue, **queue_end;
	bool must_end;
};

/* Whether a sample is older than the content of a file: `not_before` is of that. */
static inline bool table_store_is_too_new(uint64_t not_before, uint64_t time)
{
	/* What was given a time in the future says nothing. */
	return not_before > time && not_before - time <= TABLE_STORE_WRITTEN_WITHIN_NS;
}

void table_store_init(struct table_store *tables, struct elf_cache *files,
		      const struct table_cache *cache, enum table_patience patience);
void table_store_deinit(struct table_store *tables);

/* An image is no more, and its table neither. */
void table_store_forget(struct table_store *tables, uint64_t image);

/*
 * The table of an image, made if it is not there; NULL: no memory, or too many images. It is there
 * until `n_removed` changes. One that is PENDING or has NO_FILE is to be asked for each time.
 */
const struct stored_table *table_store_get(struct table_store *tables, uint64_t image);
