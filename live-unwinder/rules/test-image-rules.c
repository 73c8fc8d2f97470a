/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which rules apply to an image, and where, in files with made-up segments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "live-unwinder/rules/test-user-rules.h"

/* Rules are identified by the offset of their CFA from rsp. */
static int mark_at(const struct image_user_rules *image, uint64_t offset)
{
	const struct unwind_rule *rule = image_user_rules_find(image, offset);

	return rule ? rule->cfa_offset : 0;
}

static struct image_user_rules of_image(const char *text, const struct elf_image *file,
					const void *id, size_t id_size, const uint8_t *other_id)
{
	_cleanup_user_rules_ struct user_rules user_rules = parsed(text);
	struct image_user_rules image;

	assert_int_equal(user_rules_of_image(&user_rules, file, id, id_size, other_id, &image), 0);
	for (size_t i = 0; i < image.n; i++) {
		assert_true(image.list[i].start < image.list[i].end);
		assert_true(i == 0 || image.list[i].start >= image.list[i - 1].end);
	}
	return image; /* outlives the text and its parsed rules */
}

static void test_an_image_has_the_rules_of_its_ids(void **state)
{
	static const char text[] = "build-id:0123abcd 0x10-0x20 cfa=rsp+1 ra=cfa-8\n"
				   "build-id:0123ab 0x20-0x30 cfa=rsp+2 ra=cfa-8\n"
				   "build-id:0123abcd00 0x30-0x40 cfa=rsp+3 ra=cfa-8\n"
				   "file-id:" FILE_ID " 0x40-0x50 cfa=rsp+4 ra=cfa-8\n"
				   "build-id:" FILE_ID " 0x50-0x60 cfa=rsp+5 ra=cfa-8\n";
	static const struct {
		const void *build_id;
		size_t size;
		const uint8_t *file_id;
		int marks[5];
	} images[] = {
		{ build_id, 4, NULL, { 1 } },
		{ build_id, 3, NULL, { 0, 2 } },
		{ build_id, 2, NULL, { 0 } },
		{ build_id, 4, file_id, { 1, 0, 0, 4 } },
		{ NULL, 0, file_id, { 0, 0, 0, 4 } },
		{ build_id, 0, file_id, { 0, 0, 0, 4 } },
		{ file_id, 16, NULL, { 0, 0, 0, 0, 5 } },
		{ NULL, 0, NULL, { 0 } },
	};

	for (size_t i = 0; i < COUNT(images); i++) {
		_cleanup_image_ struct image_user_rules image = of_image(
			text, &plain, images[i].build_id, images[i].size, images[i].file_id);

		for (size_t j = 0; j < COUNT(images[i].marks); j++)
			assert_int_equal(mark_at(&image, 0x18 + 0x10 * j), images[i].marks[j]);
		if (image.n == 0)
			assert_null(image.list);
	}
}

static void test_a_rule_holds_from_start_to_end(void **state)
{
	_cleanup_image_ struct image_user_rules image =
		of_image(ID "0x40-0x41 cfa=rsp+3 ra=cfa-8\n" ID "0x10-0x20 cfa=rsp+1 ra=cfa-8\n" ID
			    "0x20-0x30 cfa=rsp+2 ra=cfa-8\n",
			 &plain, build_id, 4, NULL);

	assert_int_equal(mark_at(&image, 0), 0);
	assert_int_equal(mark_at(&image, 0xf), 0);
	assert_int_equal(mark_at(&image, 0x10), 1);
	assert_int_equal(mark_at(&image, 0x1f), 1);
	assert_int_equal(mark_at(&image, 0x20), 2);
	assert_int_equal(mark_at(&image, 0x2f), 2);
	assert_int_equal(mark_at(&image, 0x30), 0);
	assert_int_equal(mark_at(&image, 0x3f), 0);
	assert_int_equal(mark_at(&image, 0x40), 3);
	assert_int_equal(mark_at(&image, 0x41), 0);
	assert_int_equal(mark_at(&image, UINT64_MAX), 0);
}

static void test_every_one_of_many_is_found(void **state)
{
	for (size_t n = 1; n < 40; n++) {
		_cleanup_image_ struct image_user_rules image = { 0 };
		char text[40 * 64];
		size_t size = 0;

		for (size_t i = n; i > 0; i--)
			size += sprintf(text + size, ID "0x%zx-0x%zx cfa=rsp+%zu ra=cfa-8\n", 4 * i,
					4 * i + 2, i);
		image = of_image(text, &plain, build_id, 4, NULL);
		assert_int_equal(image.n, n);
		for (size_t at = 0; at < 4 * n + 8; at++)
			assert_int_equal(mark_at(&image, at),
					 at >= 4 && at < 4 * n + 2 && at % 4 < 2 ? at / 4 : 0);
	}
}

static void test_a_build_id_takes_precedence_over_a_file_id(void **state)
{
	_cleanup_image_ struct image_user_rules image =
		of_image(ID "0x10-0x20 cfa=rsp+1 ra=cfa-8\n" ID "0x30-0x40 cfa=rsp+2 ra=cfa-8\n" ID
			    "0x50-0x60 cfa=rsp+3 ra=cfa-8\n"
			    "file-id:" FILE_ID " 0x18-0x38 cfa=rsp+4 ra=cfa-8\n"
			    "file-id:" FILE_ID " 0x38-0x80 cfa=rsp+5 ra=cfa-8\n"
			    "file-id:" FILE_ID " 0x8-0x14 cfa=rsp+6 ra=cfa-8\n",
			 &plain, build_id, 4, file_id);
	static const struct {
		uint64_t offset;
		int mark;
	} wanted[] = {
		{ 0x7, 0 },  { 0x8, 6 },  { 0xf, 6 },  { 0x10, 1 }, { 0x14, 1 }, { 0x1f, 1 },
		{ 0x20, 4 }, { 0x2f, 4 }, { 0x30, 2 }, { 0x3f, 2 }, { 0x40, 5 }, { 0x4f, 5 },
		{ 0x50, 3 }, { 0x5f, 3 }, { 0x60, 5 }, { 0x7f, 5 }, { 0x80, 0 },
	};

	for (size_t i = 0; i < COUNT(wanted); i++)
		assert_int_equal(mark_at(&image, wanted[i].offset), wanted[i].mark);
}

static void test_addresses_become_offsets_of_their_segments(void **state)
{
	struct elf_segment segments[] = {
		{ .offset = 0, .size = 0x800, .address = 0x400000 },
		{ .offset = 0x1000, .size = 0x1000, .address = 0x402000, .is_executable = true },
		{ .offset = 0x5000, .size = 0x1000, .address = 0x403000, .is_executable = true },
	};
	const struct elf_image file = { .fd = -1, .segments = segments, .n_segments = 3 };
	_cleanup_image_ struct image_user_rules image = of_image(
		ID "0x402ff0-0x403010 cfa=rsp+1 ra=cfa-8\n" /* ends in the next segment */
		ID "0x4007f0-0x402008 cfa=rsp+2 ra=cfa-8\n" /* also covers a gap between segments */
		ID "0x403ff0-0x500000 cfa=rsp+3 ra=cfa-8\n" /* extends past all segments */
		ID "0x10-0x20 cfa=rsp+4 ra=cfa-8\n",	    /* in no segment */
		&file, build_id, 4, NULL);
	static const struct image_user_rule wanted[] = {
		{ 0x7f0, 0x800, { .cfa_offset = 2 } },	 { 0x1000, 0x1008, { .cfa_offset = 2 } },
		{ 0x1ff0, 0x2000, { .cfa_offset = 1 } }, { 0x5000, 0x5010, { .cfa_offset = 1 } },
		{ 0x5ff0, 0x6000, { .cfa_offset = 3 } },
	};

	assert_int_equal(image.n, COUNT(wanted));
	for (size_t i = 0; i < image.n; i++) {
		assert_int_equal(image.list[i].start, wanted[i].start);
		assert_int_equal(image.list[i].end, wanted[i].end);
		assert_int_equal(image.list[i].rule.cfa_offset, wanted[i].rule.cfa_offset);
	}
}

/* In a damaged file each offset must still map to an existing address's rule. */
static void test_segments_may_be_nonsense(void **state)
{
	static const uint64_t most = UINT64_MAX;
	struct elf_segment segments[][3] = {
		{ { 0x10, 0x100, 0 }, { 0x18, 0x100, 0x1000 }, { 0, 0, 0x20 } },
		{ { 0, most, 0x20 }, { 0, most, 0x10 }, { 0, 0, 0x30 } },
		{ { 0x200, 0x100, most - 8 }, { 0, 0x10, 0x8 }, { 0x100, 0x40, 0 } },
		{ { 0, 0x10, most - 8 }, { 0x40, 0x10, 0x1000 }, { 0x48, 0x10, 0x1008 } },
	};
	static const uint64_t addresses[] = { 0,      1,      0x7,    0x18,   0x20,	 0x3f,
					      0x1000, 0x1008, 0x100f, 0x101f, most - 16, most - 1 };

	for (size_t i = 0; i < COUNT(segments); i++) {
		const struct elf_image file = { -1, NULL, segments[i], 3, 0, 0, 0 };
		_cleanup_image_ struct image_user_rules image =
			of_image(ID "0x0-0x40 cfa=rsp+1 ra=cfa-8\n" ID
				    "0x1000-0x1020 cfa=rsp+2 ra=cfa-8\n" ID
				    "0xffffffffffffffef-0xffffffffffffffff fp\n",
				 &file, build_id, 4, NULL);

		for (size_t j = 0; j < COUNT(addresses); j++) {
			uint64_t offset;

			if (elf_image_offset(&file, addresses[j], &offset))
				assert_non_null(image_user_rules_find(&image, offset));
		}
	}
}

static void test_impossible_ranges_are_skipped(void **state)
{
	struct elf_segment segments[] = { { .offset = UINT64_MAX - 8, .size = 0x100 } };
	const struct elf_image file = { .fd = -1, .segments = segments, .n_segments = 1 };
	_cleanup_image_ struct image_user_rules image = of_image(
		ID "0x0-0x8 cfa=rsp+1 ra=cfa-8\n" ID "0x8-0x40 fp\n", &file, build_id, 4, NULL);

	assert_int_equal(image.n, 1);
	assert_int_equal(mark_at(&image, UINT64_MAX - 1), 1);
	assert_int_equal(mark_at(&image, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_image_has_the_rules_of_its_ids),
		cmocka_unit_test(test_a_rule_holds_from_start_to_end),
		cmocka_unit_test(test_every_one_of_many_is_found),
		cmocka_unit_test(test_a_build_id_takes_precedence_over_a_file_id),
		cmocka_unit_test(test_addresses_become_offsets_of_their_segments),
		cmocka_unit_test(test_segments_may_be_nonsense),
		cmocka_unit_test(test_impossible_ranges_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
