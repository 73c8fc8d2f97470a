/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a capture knows of its images beside their build-ids, from stackpipe's note in it
 * (syscap-format.h). The note is not trusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/base/pair-map.h"
#include "common/wire/wire.h"

enum { IMAGE_NOTES_MAX = 1 << 18, IMAGE_NOTE_GO_ID_SIZE = 256 };

struct image_notes {
	struct pair_map lines; /* (hash of inode, build-id and path, 0) → rest of a line */
	const char *end;       /* of the text */
};

/* Room for what a record points to. */
struct image_note {
	uint64_t words[WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS];
	char go_build_id[IMAGE_NOTE_GO_ID_SIZE];
};

/* `text` is borrowed. 0 or -ENOMEM. */
int image_notes_read(struct image_notes *notes, const char *text, size_t size);
void image_notes_deinit(struct image_notes *notes);

/* Completes the record of an image. `build_id`: in hexadecimal, or empty. */
void image_notes_complete(const struct image_notes *notes, uint64_t inode, const char *build_id,
			  const char *path, struct image_note *note, struct wire_image_id *record);
