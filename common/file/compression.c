/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/file/compression.h"

enum { BZIP2_LEVEL_AT = 3 };

static const struct {
	const char *program;
	size_t size;
	const char magic[11];
} magics[] = {
	{ "gzip", 3, "\x1f\x8b\x08" },
	{ "xz", 6,
	  "\xfd"
	  "7zXZ\0" },
	{ "zstd", 4, "\x28\xb5\x2f\xfd" },
	/* '?': the block size, a digit. Then the mark of a block, pi (or an empty file's end). */
	{ "bzip2", 10, "BZh?1AY&SY" },
	{ "bzip2", 10, "BZh?\x17\x72\x45\x38\x50\x90" },
};

const char *compression_program(const void *data, size_t size)
{
	char bytes[sizeof(magics[0].magic)] = "";

	memcpy(bytes, data, size < sizeof(bytes) ? size : sizeof(bytes));
	if (bytes[BZIP2_LEVEL_AT] >= '1' && bytes[BZIP2_LEVEL_AT] <= '9')
		bytes[BZIP2_LEVEL_AT] = '?';
	for (size_t i = 0; i < sizeof(magics) / sizeof(*magics); i++)
		if (size >= magics[i].size && !memcmp(bytes, magics[i].magic, magics[i].size))
			return magics[i].program;
	return NULL;
}
