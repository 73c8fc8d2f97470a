/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file that is written. What is added in one piece is a unit: after any failure the file ends
 * behind a whole unit, so that a reader can open it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stage/new-file.h"

enum {
	OUTPUT_BUFFER = 512 * 1024,
	OUTPUT_UNITS_MAX = 16 * 1024, /* in the buffer */
};

struct output {
	int fd;
	struct new_file file; /* what we have opened */
	bool is_seekable;     /* a regular file */
	char *buffer;
	size_t used;
	uint32_t *units; /* where each unit in the buffer ends */
	size_t n_units;
	uint64_t n_written; /* bytes in the file, all of them whole units */
};

/* Opens `path` (new-file.h), or standard output if that is "-". 0 or -errno. */
int output_open(struct output *output, const char *path, enum output_file_mode mode);

/* Adds a unit: 0 or -errno; after an error the file has been cut to its last whole unit. */
int output_add(struct output *output, const void *data, size_t size);

/* Room for a unit, to be filled in place; output_commit() adds it. NULL: a write failed. */
void *output_reserve(struct output *output, size_t size, int *ret_error);
void output_commit(struct output *output, size_t size);

/* Writes what is in the buffer. 0 or -errno, as output_add(). */
int output_flush(struct output *output);

/* Overwrites what is already in the file, if it is seekable. 0 or -errno. */
int output_patch(struct output *output, uint64_t offset, const void *data, size_t size);

/* Bytes added so far: where the next unit will be. */
static inline uint64_t output_position(const struct output *output)
{
	return output->n_written + output->used;
}

/* What is in the file by now is worth to be kept if it ends there. */
static inline void output_note_content(struct output *output)
{
	new_file_note_content(&output->file);
}

/* Flushes and closes: it is whole, and has its name. As new_file_finish(). */
int output_close(struct output *output);

/* The same of one that is not whole. Nothing, if it was closed. */
int output_abandon(struct output *output);
