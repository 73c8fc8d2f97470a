/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies files whose file systems may never answer (common/file/file-system.h) into memory that
 * cannot be changed. Copying may block for ever, so it is done in a thread that can be abandoned.
 *
 * A user has a share of the memory and time that copies cost us, and all users together have a
 * limit. What was copied counts against the share of time for a while, even if it was freed since.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { COPY_USERS_MAX = 256 }; /* users with a share; further ones get no copies */

#define COPIES_SIZE_MAX (512ULL << 20)	       /* bytes of all copies */
#define COPIES_OF_USER_SIZE_MAX (256ULL << 20) /* per user, and so of a single copy */
#define COPIES_OF_USER_RATE (16ULL << 20)      /* bytes a second, once the share is used up */

struct copy_share {
	uid_t user;
	uint64_t size;	 /* bytes of the user's existing copies */
	uint64_t recent; /* bytes copied for the user, minus those that the rate has paid back */
	uint64_t as_of;	 /* CLOCK_MONOTONIC time of `recent` */
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

/* Charges `size` bytes at `now`; false: over a limit. */
bool copy_shares_take(struct copy_shares *shares, uid_t user, uint64_t size, uint64_t now);

/* A copy was freed. */
void copy_shares_give_back(struct copy_shares *shares, uid_t user, uint64_t size);

/*
 * Copies the file behind `path_fd` (O_PATH), whose stat(2) is `status`. 0 and a sealed file open
 * for reading, owned by the caller, whose mtime is when the original was written (file-state.h);
 * -ESTALE: the size has changed; -errno.
 */
int file_copy(int path_fd, const struct stat *status, int *ret_fd);
