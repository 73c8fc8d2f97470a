/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of a stage's time goes into files that programs write while they are profiled (perf
 * maps, jitdumps). Samples wait meanwhile, and who writes them may be anybody: so they are read in
 * pieces, all of them in a tenth of the time, those of one user in a twentieth of it. What was not
 * used is kept for a while, so that a file of usual size is read at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	READING_PIECE = 1 << 20, /* bytes of a file in one turn: about 10 ms */
	/* Who wants no more need not wait for others of his user: a compiler that tells of a
	   function. */
	READING_SMALL = 1 << 16,
	READING_SHARE = 10, /* of so much time one part */
	READING_SHARE_USER = 20,
	READING_USERS_MAX = 64, /* beyond them the one who has been at rest longest is forgotten */
};

#define READING_SAVED_NS 1000000000ULL	   /* at most, for all */
#define READING_SAVED_USER_NS 500000000ULL /* and for one */

struct reading_user {
	uid_t user;
	uint64_t rest_until;
};

struct reading_share {
	uint64_t rest_until; /* of CLOCK_MONOTONIC, as that of each user */
	struct reading_user users[READING_USERS_MAX];
	size_t n_users;
};

/*
 * How many bytes of a file of a user may be read at a time of CLOCK_MONOTONIC, if it has so many
 * more: 0, or a piece.
 */
size_t reading_share_allows(const struct reading_share *share, uid_t user, uint64_t n_left,
			    uint64_t now);

/* One was, from `began` to `ended`. */
void reading_share_use(struct reading_share *share, uid_t user, uint64_t began, uint64_t ended);
