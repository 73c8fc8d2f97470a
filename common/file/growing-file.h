/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that somebody writes while it is read: each byte is read once. If the file was written
 * anew, because it is shorter than what was read, or what was read last is not in it any more, it
 * is read from its beginning again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GROWING_FILE_MARK_SIZE = 64 };

struct growing_file {
	uint64_t offset;  /* up to which it was read or skipped */
	uint64_t mark_at; /* where the last bytes that were read lie */
	size_t mark_size;
	char mark[GROWING_FILE_MARK_SIZE];
};

enum growing_file_outcome {
	GROWING_FILE_OK,
	GROWING_FILE_E_ANEW, /* it was written anew: forget what was in it, and read on */
};

/* To be asked before each reading: 0, GROWING_FILE_E_ANEW or -errno. `ret_size` is of the file. */
int growing_file_check(struct growing_file *file, int fd, uint64_t *ret_size);

/* The next bytes, 0 of them: there are none yet. 0 or -errno. */
int growing_file_read(struct growing_file *file, int fd, void *ret, size_t size, size_t *ret_size);

/* Leaves out up to `n` of the next bytes, of those that the file has; `ret_n` says how many. */
int growing_file_skip(struct growing_file *file, int fd, uint64_t n, uint64_t *ret_n);
