/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

/*
 * Decodes a code point; returns its size, 0 if it is not in its shortest form (RFC 3629), a
 * surrogate, or beyond U+10FFFF.
 */
static size_t decode(const unsigned char *at, size_t size, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;

	if (n == 0 || n > size || *at >= 0xf8)
		return 0;
	*ret = n == 1 ? *at : *at & (0xff >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		*ret = *ret << 6 | (at[i] & 0x3f);
	}
	return *ret < least[n] || *ret > 0x10ffff || (*ret >= 0xd800 && *ret < 0xe000) ? 0 : n;
}

/*
 * Code points that are invisible or change how their surroundings look, in order: noncharacters,
 * and Unicode's general categories Cc, Cf, Zl and Zp as far as they do that.
 */
static const struct {
	uint32_t first, last;
} escaped[] = {
	{ 0x00, 0x1f },	      /* C0 */
	{ 0x7f, 0x9f },	      /* DEL, C1 */
	{ 0x061c, 0x061c },   /* direction mark */
	{ 0x200b, 0x200f },   /* zero width, direction marks */
	{ 0x2028, 0x202e },   /* line separators, direction embeddings and overrides */
	{ 0x2060, 0x2069 },   /* zero width, direction isolates */
	{ 0xfdd0, 0xfdef },   /* noncharacters */
	{ 0xfeff, 0xfeff },   /* byte order mark */
	{ 0xfff9, 0xfffb },   /* interlinear annotations */
	{ 0xe0000, 0xe007f }, /* tags */
};

static bool may_be_shown(uint32_t code)
{
	if (code >= 0xa0 && code < 0x061c) /* most letters of most names */
		return true;
	for (size_t i = 0; i < sizeof(escaped) / sizeof(escaped[0]) && code >= escaped[i].first;
	     i++)
		if (code <= escaped[i].last)
			return false;
	return (code & 0xfffe) != 0xfffe; /* the last two of each plane are noncharacters */
}

/*
 * Returns the size of a text's first character; 0: it must not be shown, and `ret_escape` stands
 * for `ret_taken` bytes.
 */
static size_t measure(const char *text, size_t size, char ret_escape[TEXT_ESCAPE_MAX + 1],
		      size_t *ret_taken)
{
	uint32_t code;

	*ret_taken = decode((const unsigned char *)text, size, &code);
	if (*ret_taken && may_be_shown(code))
		return *ret_taken;
	if (*ret_taken) {
		sprintf(ret_escape, "\\u{%" PRIx32 "}", code);
		return 0;
	}
	*ret_taken = 1;
	sprintf(ret_escape, "\\x{%02x}", (unsigned char)*text);
	return 0;
}

/* Counts the leading bytes that are printable ASCII: all of most names. */
static size_t count_plain(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && text[n] >= 0x20 && text[n] < 0x7f)
		n++;
	return n;
}

size_t text_clean_most(const char *text, size_t size, char *ret, size_t ret_size, size_t *ret_taken)
{
	char escape[TEXT_ESCAPE_MAX + 1];
	size_t used = 0, at = 0, taken, left, n;
	const char *shown;

	*ret_taken = 0;
	if (ret_size)
		ret[0] = '\0';
	if (!ret_size || !size) /* an empty text may be NULL */
		return 0;
	for (;; at += taken, used += n) {
		left = ret_size - 1 - used;
		n = count_plain(text + at, size - at < left ? size - at : left);
		memcpy(ret + used, text + at, n);
		used += n;
		at += n;
		if (at == size)
			break;
		n = measure(text + at, size - at, escape, &taken);
		shown = n ? text + at : escape;
		n = n ? n : strlen(escape);
		if (used + n >= ret_size)
			break;
		for (size_t i = 0; i < n; i++)
			ret[used + i] = shown[i];
	}
	ret[used] = 0;
	*ret_taken = at;
	return used;
}

size_t text_clean(const char *text, size_t size, char *ret, size_t ret_size)
{
	size_t taken;

	return text_clean_most(text, size, ret, ret_size, &taken);
}

const char *text_clean_string(const char *text, char *ret, size_t ret_size)
{
	text_clean(text, strlen(text), ret, ret_size);
	return ret;
}

int text_digit_value(char digit)
{
	if (digit >= '0' && digit <= '9')
		return digit - '0';
	if (digit >= 'a' && digit <= 'f')
		return digit - 'a' + 10;
	if (digit >= 'A' && digit <= 'F')
		return digit - 'A' + 10;
	return -1;
}

void text_put_cut(const char *text, size_t width, FILE *out)
{
	size_t size = strlen(text), taken = size;
	char shown[TEXT_CUT_MAX + 1];

	if (width > TEXT_CUT_MAX)
		width = TEXT_CUT_MAX;
	text_clean_most(text, size, shown, width + 1, &taken);
	fprintf(out, "%s%s", shown, taken < size ? "…" : "");
}

const char *text_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

bool text_has_ending(const char *text, const char *ending)
{
	size_t size = strlen(text), n = strlen(ending);

	return size > n && !strcmp(text + size - n, ending);
}
