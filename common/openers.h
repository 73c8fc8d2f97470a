/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that open what the image server is asked for, so that it never waits for a file itself.
 * One that a file system keeps waiting is given up and replaced, as long as there are not too many.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/image-file.h"
#include "common/wire.h"
#include "common/map-opener.h"

enum {
	OPENERS_MAX = 16,	   /* threads, the stuck ones included */
	OPENERS_PATIENCE_MS = 500, /* with a file system */
};

enum opening_kind {
	OPENING_FILE, /* that is mapped */
	OPENING_MAP,  /* the perf map of a process, or another file below its root */
};

/* Something to open, and what came of it. Whoever has it owns it and its descriptors. */
struct opening {
	uint64_t image;
	enum opening_kind kind;
	struct wire_image_open request; /* of a file; its path is `path` */
	struct map_process process;	/* of a map */
	struct image_file file;
	enum { OPENING_WAITS, OPENING_RUNS, OPENING_GIVEN_UP } state;
	uint64_t deadline;
	struct opening *prev, *next;
	char path[];
};

struct openers {
	pthread_mutex_t mutex;
	pthread_cond_t more;
	struct opening *waiting, *running; /* by deadline */
	size_t n_threads;
	int done_fds[2]; /* pointers to openings, from the threads; to be polled: done_fds[0] */
};

/* NULL: there is no memory. The process is taken over, whatever becomes of it; its path is copied.
 */
struct opening *opening_new_file(const struct wire_image_open *request);
struct opening *opening_new_map(uint64_t image, const struct map_process *process);
void opening_free(struct opening *opening);

/* They stay until the process ends, and begin with the first opening. 0 or -errno. */
int openers_init(struct openers *openers);

/* Takes `opening` over. */
void openers_add(struct openers *openers, struct opening *opening);

/* The next that is done, one that was given up included: it is the caller's. NULL: none is. */
struct opening *openers_take_done(struct openers *openers);

/*
 * Gives up the next that takes too long at `now`, of CLOCK_MONOTONIC: false, there is none; or the
 * image that it was for.
 */
bool openers_give_up_slow(struct openers *openers, uint64_t now, uint64_t *ret_image);
