/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that open files for the image server, and copy those whose file system may never answer
 * (common/file/file-system.h), so that the server's main thread never blocks on a file. A thread
 * blocked by a file system is abandoned and replaced, up to a limit. A user may have only a few
 * threads at a time, and users take turns, so neither hanging files nor thousands of files of one
 * user delay another user's.
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
	OPENERS_MAX = 32,	   /* threads, including stuck ones */
	OPENERS_AT_ONCE = 4,	   /* threads that are not stuck */
	OPENERS_OF_USER_MAX = 3,   /* threads of a user, including stuck ones */
	OPENERS_PATIENCE_MS = 500, /* time limit for a file system */
};

enum opening_kind {
	OPENING_FILE, /* a mapped file */
	OPENING_MAP,  /* the perf map of a process, or another file below its root */
};

/* A file to open, and the result. The holder owns it and its descriptors. */
struct opening {
	uint64_t image;
	enum opening_kind kind;
	uid_t user;			/* accountable user (common/proc/task-user.h) */
	struct wire_image_open request; /* of OPENING_FILE; its path is `path` */
	struct map_process process;	/* of OPENING_MAP */
	struct image_file file;
	enum { OPENING_WAITS, OPENING_RUNS, OPENING_GIVEN_UP } state; /* the last: abandoned */
	bool is_urgent;						      /* a client waits for it */
	uint64_t deadline;
	struct openers_user *of;
	struct opening *prev, *next;
	char path[];
};

/* A user with something to open. */
struct openers_user {
	UT_hash_handle hh;
	uid_t user;
	size_t n_threads, n_stuck;	  /* the user's threads; how many of them are stuck */
	struct opening *urgent, *waiting; /* by deadline */
	struct openers_user *prev, *next;
	bool is_in_line;
};

struct openers {
	pthread_mutex_t mutex;
	pthread_cond_t more;
	struct openers_user *users;
	struct openers_user *line; /* users who may get a thread for what waits, next one first */
	struct opening *running;   /* by deadline */
	struct opening *stuck;	   /* abandoned, and still blocked */
	size_t n_threads, n_waiting, n_running, n_stuck;
	struct copy_shares copies;
	int done_fds[2]; /* pointers to finished openings; poll done_fds[0] */
};

/* NULL: no memory. Takes `process` over in any case; its path is copied. */
struct opening *opening_new_file(const struct wire_image_open *request, uid_t user);
struct opening *opening_new_map(uint64_t image, const struct map_process *process, uid_t user);
void opening_free(struct opening *opening);

/* The threads start with the first opening, and stay until the process ends. 0 or -errno. */
int openers_init(struct openers *openers);

/*
 * Takes `opening` over. false, and it is freed: all threads of its user are stuck, or no memory.
 * openers_hurry() moves a waiting one before the user's others and restarts its time limit.
 */
bool openers_add(struct openers *openers, struct opening *opening);
void openers_hurry(struct openers *openers, struct opening *opening);

/* The next finished opening, abandoned ones included; the caller owns it. NULL: none. */
struct opening *openers_take_done(struct openers *openers);

/* An image whose opening was abandoned. */
struct opening_given_up {
	uint64_t image;
	bool is_stuck; /* a thread is blocked on it and returns it late; else it is freed */
};

/* Abandons the next opening that is overdue at `now` (CLOCK_MONOTONIC); false: none is. */
bool openers_give_up_slow(struct openers *openers, uint64_t now, struct opening_given_up *ret);
