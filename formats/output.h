/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file being written. Each piece added is a unit: after any failure the file ends at the end of
 * a unit, so that readers can open it.
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
	struct new_file file; /* open unless the output is standard output */
	bool is_seekable;     /* a regular file */
	char *buffer;
	size_t used;
	uint32_t *units; /* end of each unit in the buffer */
	size_t n_units;
	uint64_t n_written; /* bytes in the file: whole units only */
};

/* Opens `path` (new-file.h); "-" is standard output. 0 or -errno. */
int output_open(struct output *output, const char *path, enum output_file_mode mode);

/* Adds a unit. 0, or -errno with the file cut to its last whole unit. */
int output_add(struct output *output, const void *data, size_t size);

/* Reserves space for a unit; output_commit() adds it once it is filled in. NULL: a write failed. */
void *output_reserve(struct output *output, size_t size, int *ret_error);
void output_commit(struct output *output, size_t size);

/* Writes the buffer. 0 or -errno, as output_add(). */
int output_flush(struct output *output);

/* Overwrites a part of the file, if it is seekable. 0 or -errno. */
int output_patch(struct output *output, uint64_t offset, const void *data, size_t size);

/* Bytes added so far: the offset of the next unit. */
static inline uint64_t output_position(const struct output *output)
{
	return output->n_written + output->used;
}

/* Marks the content so far as worth keeping, even if the file ends there. */
static inline void output_note_content(struct output *output)
{
	new_file_note_content(&output->file);
}

/* Flushes and closes a complete file, which gets its name. Returns as new_file_finish(). */
int output_close(struct output *output);

/* The same for an incomplete file. Does nothing after output_close(). */
int output_abandon(struct output *output);
