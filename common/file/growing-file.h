/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads each byte once of a file that another process appends to. A file that was rewritten (it is
 * shorter than what was read, or has lost the bytes read last) is read from its beginning again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { GROWING_FILE_MARK_SIZE = 64 };

struct growing_file {
	uint64_t offset;  /* read or skipped up to here */
	uint64_t mark_at; /* offset of `mark`, the last bytes that were read */
	size_t mark_size;
	char mark[GROWING_FILE_MARK_SIZE];
};

enum growing_file_outcome {
	GROWING_FILE_OK,
	GROWING_FILE_E_ANEW, /* the file was rewritten: drop its old content, and read on */
};

/* Call it before each read. 0, GROWING_FILE_E_ANEW or -errno; `ret_size` is the file's size. */
int growing_file_check(struct growing_file *file, int fd, uint64_t *ret_size);

/* Reads the next bytes; `*ret_size` is 0 if there are none yet. 0 or -errno. */
int growing_file_read(struct growing_file *file, int fd, void *ret, size_t size, size_t *ret_size);

/* Skips up to `n` bytes of those that the file has; `ret_n` is how many. 0 or -errno. */
int growing_file_skip(struct growing_file *file, int fd, uint64_t n, uint64_t *ret_n);
