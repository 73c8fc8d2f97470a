/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>
#include <string.h>

#include "common/text.h"

/*
 * Bytes of the character at `at`, 0 if it is not one that may be shown: not shortest form, a
 * surrogate, beyond U+10FFFF (RFC 3629), or a control character (C0, DEL, C1).
 */
static size_t character_size(const unsigned char *at, size_t size)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = *at < 0x80 ? 1 : *at < 0xc0 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
	uint32_t code;

	if (n == 0 || n > size || *at >= 0xf8)
		return 0;
	if (n == 1)
		return *at >= 0x20 && *at != 0x7f;
	code = *at & (0xff >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (at[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || code < 0xa0)
		return 0;
	return n;
}

size_t text_clean(const char *text, size_t size, char *ret, size_t ret_size)
{
	size_t used = 0;

	if (!ret_size)
		return 0;
	while (size) {
		size_t n = character_size((const unsigned char *)text, size);
		size_t taken = n ? n : 1;

		if (used + taken >= ret_size)
			break;
		if (n)
			memcpy(ret + used, text, n);
		else
			ret[used] = '?';
		used += taken;
		text += taken;
		size -= taken;
	}
	ret[used] = 0;
	return used;
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
