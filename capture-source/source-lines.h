/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in the source code the places of a capture are: stackpipe's own note in it
 * (syscap-format.h), which is not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "common/wire/wire.h"

enum {
	SOURCE_LINES_IMAGES_MAX = 1 << 18,
	SOURCE_LINES_PLACES_MAX = 1 << 22,
	SOURCE_LINES_AT_PLACE_MAX =
		257, /* of a function, and of all calls that are inlined there */
};

struct source_lines {
	struct pair_map files;	   /* (number, 0) → its path in the text */
	struct pair_map images;	   /* (hash of what names it, 0) → number */
	struct pair_map locations; /* (image, offset) → its lines in the text */
	const char *end;	   /* of the text */
};

struct capture_line {
	struct wire_string file;
	uint32_t line;
};

/* The text is borrowed. 0 or -ENOMEM. */
int source_lines_read(struct source_lines *lines, const char *text, size_t size);
void source_lines_deinit(struct source_lines *lines);

/* An image's number in the note; 0: it has no lines. `build_id` in hexadecimal, or empty. */
uint64_t source_lines_image(const struct source_lines *lines, uint64_t inode, const char *build_id,
			    const char *path);

/* The lines of a place, its function's first, to those of the innermost call. How many. */
size_t source_lines_find(const struct source_lines *lines, uint64_t image, uint64_t offset,
			 struct capture_line ret[static SOURCE_LINES_AT_PLACE_MAX]);
