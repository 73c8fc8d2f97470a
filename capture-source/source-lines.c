/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture-source/line-words.h"
#include "capture-source/source-lines.h"
#include "common/stream/syscap-format.h"

enum { FILES_MAX = 1 << 22 };

/* Adds an entry, unless it exists or there is no room. 0 or -ENOMEM. */
static int add(struct pair_map *map, uint64_t a, uint64_t b, uint64_t value)
{
	int r = pair_map_find(map, a, b) ? 0 : pair_map_add(map, a, b, value);

	return r == -ENOMEM ? r : 0;
}

/* "f 7 /usr/src/a.c" */
static int read_file(struct source_lines *lines, struct line_words words)
{
	uint64_t number;

	if (!line_words_number(&words, 10, &number) || !line_words_take(&words, ' '))
		return 0;
	return add(&lines->files, number, 0, (uintptr_t)words.at);
}

/* "i 3 1234567 build-id /usr/bin/a" */
static int read_image(struct source_lines *lines, struct line_words words)
{
	uint64_t number, inode;
	const char *build_id, *path;

	if (!line_words_number(&words, 10, &number) || !number || !line_words_take(&words, ' ') ||
	    !line_words_number(&words, 10, &inode) || !line_words_take(&words, ' '))
		return 0;
	build_id = words.at;
	path = memchr(build_id, ' ', words.end - build_id);
	if (!path)
		return 0;
	return add(&lines->images,
		   line_words_hash_image(inode, build_id, path - build_id, path + 1,
					 words.end - path - 1),
		   0, number);
}

/* "p 3 1f00 7:42 9:10" */
static int read_place(struct source_lines *lines, struct line_words words)
{
	uint64_t image, offset;

	if (!line_words_number(&words, 10, &image) || !line_words_take(&words, ' ') ||
	    !line_words_number(&words, 16, &offset))
		return 0;
	return add(&lines->locations, image, offset, (uintptr_t)words.at);
}

int source_lines_read(struct source_lines *lines, const char *text, size_t size)
{
	struct line_words rest = { text, text + size };
	int r = 0;

	pair_map_init(&lines->files, FILES_MAX);
	pair_map_init(&lines->images, SOURCE_LINES_IMAGES_MAX);
	pair_map_init(&lines->locations, SOURCE_LINES_PLACES_MAX);
	lines->end = rest.end;
	while (rest.at < rest.end && r == 0) {
		const char *end = memchr(rest.at, '\n', rest.end - rest.at);
		struct line_words words = { rest.at + 2, end };

		if (!end) /* the last line is incomplete */
			break;
		if (end - rest.at > 2 && rest.at[1] == ' ')
			r = *rest.at == 'f'   ? read_file(lines, words)
			    : *rest.at == 'i' ? read_image(lines, words)
			    : *rest.at == 'p' ? read_place(lines, words)
					      : 0;
		rest.at = end + 1;
	}
	return r;
}

void source_lines_deinit(struct source_lines *lines)
{
	pair_map_deinit(&lines->files);
	pair_map_deinit(&lines->images);
	pair_map_deinit(&lines->locations);
}

uint64_t source_lines_image(const struct source_lines *lines, uint64_t inode, const char *build_id,
			    const char *path)
{
	const uint64_t *known = pair_map_find(
		&lines->images,
		line_words_hash_image(inode, build_id, strlen(build_id), path, strlen(path)), 0);

	return known ? *known : 0;
}

static struct wire_string file_of(const struct source_lines *lines, uint64_t number)
{
	const uint64_t *known = pair_map_find(&lines->files, number, 0);
	const char *path = known ? (const char *)(uintptr_t)*known : NULL;
	size_t size;

	if (!path)
		return (struct wire_string){ "", 0 };
	/* Safe: every accepted line of the note ends with a newline. */
	size = (const char *)memchr(path, '\n', lines->end - path) - path;
	return (struct wire_string){ path, size < WIRE_NAME_MAX ? size : WIRE_NAME_MAX };
}

size_t source_lines_find(const struct source_lines *lines, uint64_t image, uint64_t offset,
			 struct capture_line ret[static SOURCE_LINES_AT_PLACE_MAX])
{
	const uint64_t *known = image ? pair_map_find(&lines->locations, image, offset) : NULL;
	struct line_words words = { known ? (const char *)(uintptr_t)*known : lines->end,
				    lines->end };
	size_t n = 0;

	while (n < SOURCE_LINES_AT_PLACE_MAX && line_words_take(&words, ' ')) {
		uint64_t file, line;

		if (!line_words_number(&words, 10, &file) || !line_words_take(&words, ':') ||
		    !line_words_number(&words, 10, &line))
			return 0;
		ret[n++] = (struct capture_line){ file_of(lines, file), line };
	}
	return n;
}
