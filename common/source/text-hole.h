/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a file's text is missing: a program that has replaced it by memory without a file, before
 * anybody looked, still has the rest of the file mapped around it, and the file's program headers
 * say what belongs between.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/proc/proc.h"

enum { TEXT_HOLE_HEADERS_MAX = 256 }; /* a file with more program headers has no holes */

/* Executable memory without a file, beside a file's mappings. */
struct text_hole {
	uint64_t start, end;
	bool is_writable;	/* any of it */
	struct text_neighbour { /* of one file */
		uint64_t address, offset;
	} beside[2];
	size_t n_beside;
	size_t file; /* which mapping is such a neighbour */
};

/*
 * The next one, from the mapping `*at` on, which is then the one behind it. `maps` are
 * proc_read_all_maps()'s. false: there is none.
 */
bool text_hole_next(const struct proc_maps *maps, size_t *at, struct text_hole *ret);

/*
 * The offset in the file of what belongs there, if that is executable and all of the hole lies in
 * it. It reads the file, which may take for ever.
 */
bool text_hole_offset(const struct text_hole *hole, int fd, uint64_t *ret);
