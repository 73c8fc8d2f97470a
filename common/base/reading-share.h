/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Limits a stage's time for files that programs write while they are profiled (perf maps,
 * jitdumps). Samples wait meanwhile, and any user may write such files. So they are read in pieces,
 * in at most a tenth of the time, and in a twentieth for one user. Unused time is saved for a
 * while, so that a file of usual size is read at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	READING_PIECE = 1 << 20, /* bytes of a file per turn: about 10 ms */
	/* So few bytes need not wait for the user's other files: a JIT compiler adds a function. */
	READING_SMALL = 1 << 16,
	READING_SHARE = 10, /* all files get 1/10 of the time */
	READING_SHARE_USER = 20,
	READING_USERS_MAX = 64, /* beyond, the user with the earliest `rest_until` is dropped */
};

#define READING_SAVED_NS 1000000000ULL	   /* of reading time at most, for all */
#define READING_SAVED_USER_NS 500000000ULL /* for one user */

struct reading_user {
	uid_t user;
	uint64_t rest_until;
};

struct reading_share {
	uint64_t rest_until; /* CLOCK_MONOTONIC; so is each user's */
	struct reading_user users[READING_USERS_MAX];
	size_t n_users;
};

/* The bytes of a user's file to read `now` (CLOCK_MONOTONIC): 0, READING_SMALL or READING_PIECE. */
size_t reading_share_allows(const struct reading_share *share, uid_t user, uint64_t n_left,
			    uint64_t now);

/* Records a read from `began` to `ended`. */
void reading_share_use(struct reading_share *share, uid_t user, uint64_t began, uint64_t ended);
