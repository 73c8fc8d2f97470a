/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Source lines of a capture's locations, from stackpipe's note in it (syscap-format.h). The note is
 * not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "common/wire/wire.h"

enum {
	SOURCE_LINES_IMAGES_MAX = 1 << 18,
	SOURCE_LINES_PLACES_MAX = 1 << 22,
	SOURCE_LINES_AT_PLACE_MAX = 257, /* a function and all calls inlined there */
};

struct source_lines {
	struct pair_map files;	   /* (number, 0) → path in the text */
	struct pair_map images;	   /* (hash of inode, build-id and path, 0) → number */
	struct pair_map locations; /* (image, offset) → lines in the text */
	const char *end;	   /* of the text */
};

struct capture_line {
	struct wire_string file;
	uint32_t line;
};

/* `text` is borrowed. 0 or -ENOMEM. */
int source_lines_read(struct source_lines *lines, const char *text, size_t size);
void source_lines_deinit(struct source_lines *lines);

/* An image's number in the note; 0: it has no lines. `build_id`: in hexadecimal, or empty. */
uint64_t source_lines_image(const struct source_lines *lines, uint64_t inode, const char *build_id,
			    const char *path);

/* The lines of a location, from its function to the innermost call. Returns their number. */
size_t source_lines_find(const struct source_lines *lines, uint64_t image, uint64_t offset,
			 struct capture_line ret[static SOURCE_LINES_AT_PLACE_MAX]);
