/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds where a file's text is missing. A program that replaced it by memory without a file before
 * the recording still has the rest of the file mapped around it, and the file's program headers
 * show what belongs in between.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/proc/proc.h"

enum { TEXT_HOLE_HEADERS_MAX = 256 }; /* files with more program headers are ignored */

/* Executable memory without a file, next to mappings of a file. */
struct text_hole {
	uint64_t start, end;
	bool is_writable;	/* whether any part of it is */
	struct text_neighbour { /* mappings of one file */
		uint64_t address, offset;
	} beside[2];
	size_t n_beside;
	size_t file; /* index of one such mapping */
};

/*
 * Finds the next hole from mapping `*at` on, and advances `*at` behind it. `maps` are from
 * proc_read_all_maps(). false: none.
 */
bool text_hole_next(const struct proc_maps *maps, size_t *at, struct text_hole *ret);

/*
 * The file offset of the text that belongs into the hole; false unless an executable segment covers
 * all of it. Reads the file, which may block for ever.
 */
bool text_hole_offset(const struct text_hole *hole, int fd, uint64_t *ret);
