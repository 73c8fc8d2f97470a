/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Everything but SHA-256, which is in common/elf/file-id-hash.c so that few programs link libmd. */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/stream/file-id.h"

/* www.isthe.com/chongo/tech/comp/fnv: the 128-bit FNV prime is 2^88 + 2^8 + 0x3b. */
#define FNV_PRIME ((unsigned __int128)1 << 88 | 0x13b)
#define FNV_BASIS ((unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d)

static unsigned __int128 fnv_1a(unsigned __int128 hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * FNV_PRIME;
	return hash;
}

bool file_id_of_kernel(const void *build_id, size_t size, struct file_id *ret)
{
	const uint8_t *bytes = build_id;
	unsigned __int128 hash = FNV_BASIS;

	if (size < FILE_ID_KERNEL_BUILD_ID_MIN)
		return false;
	for (size_t i = 0; i < size; i++) {
		char digits[3];

		snprintf(digits, sizeof(digits), "%02x", bytes[i]);
		hash = fnv_1a(hash, digits);
	}
	for (size_t i = FILE_ID_SIZE; i-- > 0; hash >>= 8)
		ret->bytes[i] = (uint8_t)hash;
	return true;
}

void file_id_text(const struct file_id *id, char ret[FILE_ID_TEXT_SIZE])
{
	for (size_t i = 0; i < FILE_ID_SIZE; i++)
		snprintf(ret + 2 * i, 3, "%02x", id->bytes[i]);
}

bool file_id_parse(const char *text, struct file_id *ret)
{
	struct file_id id;

	if (strnlen(text, FILE_ID_TEXT_SIZE) != FILE_ID_DIGITS)
		return false;
	for (size_t i = 0; i < FILE_ID_SIZE; i++) {
		int high = text_digit_value(text[2 * i]), low = text_digit_value(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		id.bytes[i] = high << 4 | low;
	}
	*ret = id;
	return true;
}

uint64_t file_id_short(const struct file_id *id)
{
	uint64_t half;

	memcpy(&half, id->bytes, sizeof(half));
	return be64toh(half);
}
