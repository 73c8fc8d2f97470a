/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that open what the image server is asked for, and copy what may never be answered for
 * (common/file/file-system.h), so that it never waits for a file itself. One that a file system
 * keeps waiting is given up and replaced, as long as there are not too many. No user may have more
 * than a few of them at a time, so that whoever answers for files that hang keeps nobody else
 * waiting; and users take turns, so that whoever maps a thousand files does not, either.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/hash-table.h"
#include "common/image-server/image-file.h"
#include "common/image-server/map-opener.h"
#include "common/wire/wire.h"

enum {
	OPENERS_MAX = 32,	   /* threads, the stuck ones included */
	OPENERS_AT_ONCE = 4,	   /* that there are without any that is stuck */
	OPENERS_OF_USER_MAX = 3,   /* that a user may have, the stuck ones included */
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
	uid_t user;			/* who answers for it (common/proc/task-user.h) */
	struct wire_image_open request; /* of a file; its path is `path` */
	struct map_process process;	/* of a map */
	struct image_file file;
	enum { OPENING_WAITS, OPENING_RUNS, OPENING_GIVEN_UP } state; /* the last: it came late */
	bool is_urgent;						      /* a client waits for it */
	uint64_t deadline;
	struct openers_user *of;
	struct opening *prev, *next;
	char path[];
};

/* A user who has something to open. */
struct openers_user {
	UT_hash_handle hh;
	uid_t user;
	size_t n_threads, n_stuck;	  /* threads that he has; those of them that are stuck */
	struct opening *urgent, *waiting; /* by deadline */
	struct openers_user *prev, *next;
	bool is_in_line;
};

struct openers {
	pthread_mutex_t mutex;
	pthread_cond_t more;
	struct openers_user *users;
	struct openers_user *line; /* who may have a thread for what waits: the next one first */
	struct opening *running;   /* by deadline */
	struct opening *stuck;	   /* that were given up, and are not back */
	size_t n_threads, n_waiting, n_running, n_stuck;
	struct copy_shares copies;
	int done_fds[2]; /* pointers to openings, from the threads; to be polled: done_fds[0] */
};

/* NULL: there is no memory. The process is taken over, whatever becomes of it; its path is copied.
 */
struct opening *opening_new_file(const struct wire_image_open *request, uid_t user);
struct opening *opening_new_map(uint64_t image, const struct map_process *process, uid_t user);
void opening_free(struct opening *opening);

/* They stay until the process ends, and begin with the first opening. 0 or -errno. */
int openers_init(struct openers *openers);

/*
 * Takes `opening` over; false, and it is freed: all threads that its user may have are stuck, or
 * there is no memory. Until it is taken or given up, openers_hurry() lets it go before what else of
 * its user waits; its patience begins anew.
 */
bool openers_add(struct openers *openers, struct opening *opening);
void openers_hurry(struct openers *openers, struct opening *opening);

/* The next that is done, one that was given up included: it is the caller's. NULL: none is. */
struct opening *openers_take_done(struct openers *openers);

/* An image whose opening has taken too long. */
struct opening_given_up {
	uint64_t image;
	bool is_stuck; /* a thread has it, and gives it back late; else nobody has */
};

/* Gives up the next that takes too long at `now`, of CLOCK_MONOTONIC: false, there is none. */
bool openers_give_up_slow(struct openers *openers, uint64_t now, struct opening_given_up *ret);
