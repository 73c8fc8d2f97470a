/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/file/compression.h"
#include "common/file/gzip.h"
#include "common/wire/wire.h"

static const struct {
	const char *program;
	size_t size;
	const char bytes[16];
} beginnings[] = {
	/* As the programs compress empty and non-empty input. */
	{ "bzip2", 14, "BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0" },
	{ "bzip2", 14,
	  "BZh1"
	  "1AY&SY\xaf\x5f\0\0" },
	{ "xz", 12,
	  "\xfd"
	  "7zXZ\0\0\x04\xe6\xd6\xb4\x46" },
	{ "zstd", 13, "\x28\xb5\x2f\xfd\x24\0\x01\0\0\x99\xe9\xd8\x51" },
};

/* Whole and truncated anywhere, each in a block of its exact size, for sanitizers. */
static void test_output_of_compressors_is_recognized(void **state)
{
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		for (size_t size = 0; size <= beginnings[i].size; size++) {
			char *bytes = malloc(size + 1);
			const char *program;

			memcpy(bytes, beginnings[i].bytes, size);
			program = compression_program(bytes, size);
			if (size == beginnings[i].size)
				assert_non_null(program);
			if (program)
				assert_string_equal(program, beginnings[i].program);
			free(bytes);
		}
}

static void test_gzip(void **state)
{
	char *bytes;
	size_t size;

	assert_int_equal(gzip_compress("text", 4, &bytes, &size), 0);
	assert_string_equal(compression_program(bytes, size), "gzip");
	free(bytes);
}

static void test_our_own_inputs_are_not_compressed(void **state)
{
	static const char *const texts[] = { "PERFILE2........", "BZh9;a;b 12.....",
					     "BZhx1AY&SY......", "main;work 1....." };
	const uint64_t stream[] = { WIRE_RECORD_hello, WIRE_MAGIC };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_null(compression_program(texts[i], strlen(texts[i])));
	assert_null(compression_program(stream, sizeof(stream)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_of_compressors_is_recognized),
		cmocka_unit_test(test_gzip),
		cmocka_unit_test(test_our_own_inputs_are_not_compressed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
