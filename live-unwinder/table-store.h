/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The unwind tables of images, each compiled when a sample first needs it, unless it is on disk:
 * small ones at once, large ones by a thread, from bytes that were read beforehand.
 */
#pragma once

#include <pthread.h>

#include "common/base/lru.h"
#include "common/base/pair-map.h"
#include "common/elf/elf-cache.h"
#include "common/unwind/same-file.h"
#include "common/unwind/table-cache.h"
#include "common/unwind/unwind-source.h"
#include "live-unwinder/rules/switched-stacks.h"
#include "live-unwinder/rules/user-rules.h"

enum {
	/* Bytes of unwind information (about 4 ms of work) from which on a thread compiles it. */
	TABLE_STORE_LARGE = 256 * 1024,
	/* Bytes of all tables; beyond it the least recently used ones are evicted. */
	TABLE_STORE_SIZE_MAX = 96 * 1024 * 1024,
};

/* A file is looked up at most this long after its samples, so no later write has been seen. */
#define TABLE_STORE_WRITTEN_WITHIN_NS 10000000000ULL

/* The state of an image's table. */
enum table_state {
	TABLE_READY,
	TABLE_PENDING,	/* look it up again */
	TABLE_NO_FILE,	/* the image has no file, or an unavailable one, or no ELF file */
	TABLE_UNUSABLE, /* unwind information that cannot be compiled */
};

struct stored_table {
	uint64_t number; /* of the image */
	struct unwind_table table;
	struct image_user_rules user_rules; /* precede the table, which may be missing */
	struct switched_stacks switched;    /* as well */
	struct kept_file cached;	    /* holds the table's bytes, unless `table` owns them */
	uint32_t id;			    /* unique, never 0 */
	uint64_t not_before;		    /* elf_cache_not_before() */
	enum table_state state;
	enum wire_stack_end end;   /* for a last frame in an image without a file */
	const struct image *image; /* NULL: not in the stream */
	struct table_job *job;	   /* compiles the table; NULL: none */
	uint64_t same_as;	   /* image of the same file, whose entry is used; 0: none */
	size_t size;		   /* bytes, counted in table_store.size; 0: not yet */
	struct lru_link used;	   /* while it has a size */
};

/* What to do while a large table is compiled. */
enum table_patience {
	TABLE_STORE_WAIT,	/* recorded stream: results must not depend on our speed */
	TABLE_STORE_DO_WITHOUT, /* live stream: elfutils unwinds meanwhile */
};

struct table_store {
	struct elf_cache *files;	     /* borrowed */
	const struct table_cache *cache;     /* borrowed */
	const struct user_rules *user_rules; /* borrowed; NULL: none given */
	enum table_patience patience;
	struct pair_map by_image; /* (image, 0) → struct stored_table * */
	struct same_files same_files;
	uint32_t n;
	size_t size, size_max; /* bytes of all tables */
	struct lru used;       /* entries with a size */
	uint64_t n_removed;    /* removed entries; a change invalidates cached entry pointers */
	uint64_t *n_compiled, *n_from_disk, *n_evicted; /* counters of the stage */

	/* Shared with the thread. */
	pthread_t thread;
	bool has_thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct table_job *queue, **queue_end;
	bool must_end;
};

/* Whether a sample is older than a file's content, which dates from `not_before`. */
static inline bool table_store_is_too_new(uint64_t not_before, uint64_t time)
{
	/* A later time was not set by a write: it is in the future, and proves nothing. */
	return not_before > time && not_before - time <= TABLE_STORE_WRITTEN_WITHIN_NS;
}

void table_store_init(struct table_store *tables, struct elf_cache *files,
		      const struct table_cache *cache, enum table_patience patience);
void table_store_deinit(struct table_store *tables);

/* Removes the table of an image that has ended. */
/* The same, once it is compiled if it is being compiled. */
const struct stored_table *table_store_await(struct table_store *tables, uint64_t image);

void table_store_forget(struct table_store *tables, uint64_t image);

/*
 * The table of an image, begun if missing; NULL: no memory, or too many images. Valid until
 * `n_removed` changes. PENDING and NO_FILE may change: look them up each time.
 */
const struct stored_table *table_store_get(struct table_store *tables, uint64_t image);
