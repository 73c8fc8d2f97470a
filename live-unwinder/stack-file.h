/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The file of perf's that a replayed stream's samples refer to: their stacks lie there, and are
 * used where they lie. It is opened when a sample first needs it, by its recorded path, and must be
 * the file that the source has read, until the end; it is mapped, so it must be our own.
 */
#pragma once

#include "common/file/file-state.h"
#include "common/stream/image-table.h"
#include "common/stage/stage.h"

enum {
	STACK_FILE_STACK_MAX = 65536, /* bytes of a stack: no more than in a sample itself */
	STACK_FILE_AHEAD = 1536,      /* bytes that are asked for: of the innermost frames */
};

struct stack_file {
	struct stage *stage;		  /* borrowed */
	const struct image_table *images; /* borrowed */
	uint64_t image;			  /* the only one of a stream; 0: not met yet */
	int fd;
	const char *map; /* NULL: it cannot be had */
	struct file_state state;
	size_t size;
	size_t last; /* stack that was fetched: where it is */
};

void stack_file_init(struct stack_file *recording, struct stage *stage,
		     const struct image_table *images);
void stack_file_deinit(struct stack_file *recording);

/*
 * Of a sample that refers to a file: fetches its stack, as if it had come with it. It is there
 * until the end, but not followed by zero bytes. false: it cannot be had, and a person was told why
 * the file cannot.
 */
bool stack_file_fetch(struct stack_file *recording, struct wire_sample *sample);

/*
 * When all is done: whether each stack was that of the source. If the file could not be had that
 * was told; if it was written to meanwhile, that is told now.
 */
bool stack_file_was_good(const struct stack_file *recording);
