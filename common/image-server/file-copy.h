/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of files whose file systems may never answer (common/file/file-system.h): what a stage
 * reads then is memory that nobody can change. To copy may wait for ever, so a thread does that can
 * be given up.
 *
 * Copies cost memory and time that are not their owners': a user has a share of both, and all users
 * together have a limit. What was copied counts against his share of time for a while, even if it
 * was forgotten since.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { COPY_USERS_MAX = 256 }; /* with a share; further ones have none */

#define COPIES_SIZE_MAX (512ULL << 20)	       /* bytes of all copies */
#define COPIES_OF_USER_SIZE_MAX (256ULL << 20) /* of a user, and of a single one */
#define COPIES_OF_USER_RATE (16ULL << 20)      /* bytes a second, when the share was used up */

struct copy_share {
	uid_t user;
	uint64_t size;	 /* of his copies that there are */
	uint64_t recent; /* bytes that were copied for him, less those of the rate */
	uint64_t as_of;	 /* of CLOCK_MONOTONIC: `recent` */
};

struct copy_shares {
	pthread_mutex_t mutex;
	struct copy_share list[COPY_USERS_MAX];
	size_t n;
	uint64_t size; /* of all copies */
};

#define COPY_SHARES_INIT                                                                           \
	{                                                                                          \
		.mutex = PTHREAD_MUTEX_INITIALIZER                                                 \
	}

/* Takes so many bytes at `now`: false: they are too many. */
bool copy_shares_take(struct copy_shares *shares, uid_t user, uint64_t size, uint64_t now);

/* A copy is no more. */
void copy_shares_give_back(struct copy_shares *shares, uid_t user, uint64_t size);

/*
 * Copies the file that `path_fd` was opened by (O_PATH), of which `status` is told: 0 and a sealed
 * file that is open to be read, whose mtime says when the original was written to (file-state.h);
 * the caller owns it. -ESTALE: it has another size by now; -errno.
 */
int file_copy(int path_fd, const struct stat *status, int *ret_fd);
