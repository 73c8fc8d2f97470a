/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "capture-source/image-notes.h"
#include "capture-source/line-words.h"
#include "common/stream/syscap-format.h"

/* "1234567 build-id file-id segments go-build-id /usr/bin/a"; a word that is not known is "-". */
static int read_line(struct image_notes *notes, struct line_words words)
{
	const char *build_id, *facts, *skipped;
	size_t build_id_size, size;
	uint64_t inode, hash;
	int r;

	if (!line_words_number(&words, 10, &inode) || !line_words_take(&words, ' ') ||
	    !line_words_word(&words, &build_id, &build_id_size))
		return 0;
	facts = words.at;
	for (int i = 0; i < SYSCAP_IMAGE_FACTS; i++)
		if (!line_words_word(&words, &skipped, &size))
			return 0;
	if (build_id_size == 1)
		build_id_size = 0; /* "-" */
	hash = line_words_hash_image(inode, build_id, build_id_size, words.at,
				     words.end - words.at);
	r = pair_map_find(&notes->lines, hash, 0)
		    ? 0
		    : pair_map_add(&notes->lines, hash, 0, (uintptr_t)facts);
	return r == -ENOMEM ? r : 0;
}

int image_notes_read(struct image_notes *notes, const char *text, size_t size)
{
	const char *at = text, *line_end;
	int r = 0;

	pair_map_init(&notes->lines, IMAGE_NOTES_MAX);
	notes->end = text + size;
	while (r == 0 && at < notes->end && (line_end = memchr(at, '\n', notes->end - at))) {
		r = read_line(notes, (struct line_words){ at, line_end });
		at = line_end + 1;
	}
	return r;
}

void image_notes_deinit(struct image_notes *notes)
{
	pair_map_deinit(&notes->lines);
}

/* "1000:401000:2000,…" */
static struct wire_addrs read_segments(struct line_words words, uint64_t *ret)
{
	size_t n = 0;

	while (n < WIRE_SEGMENTS_MAX * WIRE_SEGMENT_WORDS &&
	       line_words_number(&words, 16, &ret[n])) {
		n++;
		if (!line_words_take(&words, n % WIRE_SEGMENT_WORDS ? ':' : ','))
			break;
	}
	return (struct wire_addrs){ ret, n - n % WIRE_SEGMENT_WORDS };
}

void image_notes_complete(const struct image_notes *notes, uint64_t inode, const char *build_id,
			  const char *path, struct image_note *note, struct wire_image_id *record)
{
	uint64_t hash =
		line_words_hash_image(inode, build_id, strlen(build_id), path, strlen(path));
	const uint64_t *known = notes->end ? pair_map_find(&notes->lines, hash, 0) : NULL;
	struct line_words words = { known ? (const char *)(uintptr_t)*known : NULL, notes->end };
	const char *word;
	size_t size;

	if (!known || !line_words_word(&words, &word, &size))
		return;
	if (size < sizeof(record->file_id) && size > 1)
		memcpy(record->file_id, word, size);
	if (line_words_word(&words, &word, &size))
		record->segments =
			read_segments((struct line_words){ word, word + size }, note->words);
	if (line_words_word(&words, &word, &size) && size > 1 && size < sizeof(note->go_build_id)) {
		memcpy(note->go_build_id, word, size);
		note->go_build_id[size] = 0;
		record->go_build_id = (struct wire_string){ note->go_build_id, size };
	}
}
