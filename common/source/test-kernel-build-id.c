/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/source/kernel-build-id.h"

static uint8_t notes[1024];
static size_t size;

static int set_up(void **state)
{
	size = 0;
	memset(notes, 0, sizeof(notes));
	return 0;
}

static void add(uint32_t type, const char *name, size_t name_size, const void *description,
		size_t description_size)
{
	Elf64_Nhdr header = { name_size, description_size, type };

	memcpy(notes + size, &header, sizeof(header));
	memcpy(notes + size + sizeof(header), name, name_size);
	size += sizeof(header) + (name_size + 3) / 4 * 4;
	memcpy(notes + size, description, description_size);
	size += (description_size + 3) / 4 * 4;
}

/* Copies into a block of exact size, so that ASan and valgrind detect reads past its end. */
static size_t find(const uint8_t *all, size_t n, uint8_t *ret)
{
	_cleanup_free_ uint8_t *copy = malloc(n ? n : 1);
	const uint8_t *found;
	size_t found_size;

	memcpy(copy, all, n);
	found_size = kernel_build_id_find(copy, n, &found);
	if (found_size) {
		assert_true(found >= copy && found + found_size <= copy + n);
		memcpy(ret, found, found_size);
	}
	return found_size;
}

static void assert_found(const char *expected, size_t expected_size)
{
	uint8_t found[WIRE_BUILD_ID_MAX];

	assert_int_equal(find(notes, size, found), expected_size);
	assert_memory_equal(found, expected, expected_size);
}

static void assert_none(void)
{
	uint8_t found[WIRE_BUILD_ID_MAX];

	assert_int_equal(find(notes, size, found), 0);
}

static void test_the_build_id_is_found_anywhere_in_the_notes(void **state)
{
	assert_none();
	add(6, "Linux", 6, "", 1);
	add(0x101, "Linux", 6, "odd", 3);
	add(NT_GNU_BUILD_ID, "Xen", 4, "of another owner", 16);
	add(NT_GNU_ABI_TAG, "GNU", 4, "of another type!", 16);
	add(0, "", 0, "", 0);
	assert_none();
	add(NT_GNU_BUILD_ID, "GNU", 4, "0123456789abcdefghij", 20);
	assert_found("0123456789abcdefghij", 20);
	add(NT_GNU_BUILD_ID, "GNU", 4, "the first one counts", 20);
	assert_found("0123456789abcdefghij", 20);
}

static void test_padding_may_be_missing_at_the_end(void **state)
{
	add(NT_GNU_BUILD_ID, "GNU", 4, "odd", 3);
	size--;
	assert_found("odd", 3);
}

static void test_an_empty_or_oversized_build_id_is_ignored(void **state)
{
	static const char large[WIRE_BUILD_ID_MAX + 1] = "x";

	add(NT_GNU_BUILD_ID, "GNU", 4, "", 0);
	add(NT_GNU_BUILD_ID, "GNU", 4, large, sizeof(large));
	assert_none();
	add(NT_GNU_BUILD_ID, "GNU", 4, large, sizeof(large) - 1);
	assert_found(large, sizeof(large) - 1);
}

static void test_a_note_name_must_match_completely(void **state)
{
	add(NT_GNU_BUILD_ID, "GNU", 3, "0123456789abcdefghij", 20);
	add(NT_GNU_BUILD_ID, "GNUs", 5, "0123456789abcdefghij", 20);
	add(NT_GNU_BUILD_ID, "", 0, "0123456789abcdefghij", 20);
	assert_none();
}

static void test_every_cut_is_harmless(void **state)
{
	uint8_t found[WIRE_BUILD_ID_MAX];
	size_t needed;

	add(6, "Linux", 6, "1234", 4);
	add(NT_GNU_BUILD_ID, "GNU", 4, "0123456789abcdefghij", 20);
	needed = size;
	add(6, "Linux", 6, "1234", 4);
	for (size_t n = 0; n <= size; n++)
		assert_int_equal(find(notes, n, found), n >= needed ? 20 : 0);
}

static void test_every_size_is_harmless(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 3, 16, 100, INT32_MAX, UINT32_MAX - 3, UINT32_MAX };
	uint8_t found[WIRE_BUILD_ID_MAX];

	for (size_t i = 0; i < 8; i++) {
		for (size_t k = 0; k < 8; k++) {
			Elf64_Nhdr header = { sizes[i], sizes[k], NT_GNU_BUILD_ID };

			set_up(NULL);
			add(NT_GNU_BUILD_ID, "GNU", 4, "0123456789abcdefghij", 20);
			memcpy(notes, &header, sizeof(header));
			assert_in_range(find(notes, size, found), 0, WIRE_BUILD_ID_MAX);
		}
	}
}

/* The kernel's build-id is a SHA-1, or of the size that its builder chose. */
static void test_this_kernel_has_one_or_none(void **state)
{
	uint8_t found[WIRE_BUILD_ID_MAX];

	assert_in_range(kernel_build_id_read(found), 0, WIRE_BUILD_ID_MAX);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_the_build_id_is_found_anywhere_in_the_notes),
		TEST(test_padding_may_be_missing_at_the_end),
		TEST(test_an_empty_or_oversized_build_id_is_ignored),
		TEST(test_a_note_name_must_match_completely),
		TEST(test_every_cut_is_harmless),
		TEST(test_every_size_is_harmless),
		TEST(test_this_kernel_has_one_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
