/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdint.h>

#include "formats/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Writes up to three bytes as four digits. */
static void put_group(FILE *out, const uint8_t *at, size_t n)
{
	uint32_t bits = at[0] << 16 | (n > 1 ? at[1] << 8 : 0) | (n > 2 ? at[2] : 0);

	putc_unlocked(digits[bits >> 18], out);
	putc_unlocked(digits[bits >> 12 & 63], out);
	putc_unlocked(n > 1 ? digits[bits >> 6 & 63] : '=', out);
	putc_unlocked(n > 2 ? digits[bits & 63] : '=', out);
}

void base64_put(FILE *out, const void *data, size_t size)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < size; i += 3)
		put_group(out, bytes + i, size - i < 3 ? size - i : 3);
}
