/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The perf.data file that a replayed stream's samples refer to: their stacks are used in place. It
 * is opened by its recorded path when a sample first needs it, and must stay the file that the
 * source read, until the end. As it is mapped, we must own it.
 */
#pragma once

#include "common/file/file-state.h"
#include "common/stage/stage.h"
#include "common/stream/image-table.h"

enum {
	STACK_FILE_STACK_MAX = 65536, /* bytes of a stack; the limit of a sample, too */
	STACK_FILE_AHEAD = 1536,      /* bytes prefetched: the innermost frames */
};

struct stack_file {
	struct stage *stage;		  /* borrowed */
	const struct image_table *images; /* borrowed */
	uint64_t image;			  /* number of the stream's only one; 0: none yet */
	int fd;
	const char *map; /* NULL: unavailable */
	struct file_state state;
	size_t size;
	size_t last; /* offset of the last fetched stack */
};

void stack_file_init(struct stack_file *recording, struct stage *stage,
		     const struct image_table *images);
void stack_file_deinit(struct stack_file *recording);

/*
 * Fetches the stack of a sample that refers to a file, as if it had come with the sample: valid
 * until the end, but not followed by zero bytes. false: unavailable; a file's error was reported.
 */
bool stack_file_fetch(struct stack_file *recording, struct wire_sample *sample);

/*
 * At the end: whether every stack was what the source read. An unavailable file was reported
 * before; a file modified meanwhile is reported now.
 */
bool stack_file_was_good(const struct stack_file *recording);
