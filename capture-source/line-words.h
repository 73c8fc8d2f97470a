/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes apart a line of stackpipe's notes in a capture (syscap-format.h), which is not trusted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/text.h"

enum { LINE_WORDS_DIGITS_MAX = 20 };

/* The unread rest of a line. */
struct line_words {
	const char *at, *end;
};

static inline bool line_words_take(struct line_words *words, char wanted)
{
	if (words->at == words->end || *words->at != wanted)
		return false;
	words->at++;
	return true;
}

static inline bool line_words_number(struct line_words *words, unsigned base, uint64_t *ret)
{
	const char *start = words->at;

	*ret = 0;
	for (; words->at < words->end && words->at - start < LINE_WORDS_DIGITS_MAX; words->at++) {
		int digit = text_digit_value(*words->at);

		if (digit < 0 || digit >= (int)base)
			break;
		*ret = *ret * base + digit;
	}
	return words->at > start;
}

/* A word and the space after it, which is taken, too. */
static inline bool line_words_word(struct line_words *words, const char **ret, size_t *ret_size)
{
	const char *space = memchr(words->at, ' ', words->end - words->at);

	if (!space)
		return false;
	*ret = words->at;
	*ret_size = space - words->at;
	words->at = space + 1;
	return true;
}

/* What notes and mappings of a capture know an image by; the build-id is in hexadecimal. */
static inline uint64_t line_words_hash_image(uint64_t inode, const char *build_id,
					     size_t build_id_size, const char *path,
					     size_t path_size)
{
	uint64_t hash = hash_part(HASH_BYTES ^ inode, build_id, build_id_size);

	return hash_part(hash, path, path_size);
}
