/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/wire.h"

enum { BUFFER_SIZE = WIRE_RECORD_MAX };

/* Fills every field of a type, with `n` elements in arrays. */
static void fill_view(const struct wire_type *type, union wire_view *view, size_t n)
{
	static char bytes[4096];
	static struct wire_frame frames[8];

	memset(bytes, 'x', sizeof(bytes) - 1);
	memset(view, 0, sizeof(*view));
	for (size_t i = 0; i < type->n_fields; i++) {
		const struct wire_field *field = &type->fields[i];
		void *at = (char *)view + field->offset;

		switch (field->kind) {
		case WIRE_U64:
		case WIRE_ADDR:
			*(uint64_t *)at = 0x1122334455667788ULL + i;
			break;
		case WIRE_TEXT:
			memset(at, 't', field->limit / 2);
			break;
		case WIRE_STRING:
			*(struct wire_string *)at = (struct wire_string){ bytes, n };
			break;
		case WIRE_BLOB:
			*(struct wire_blob *)at = (struct wire_blob){ bytes, n };
			break;
		case WIRE_ADDRS:
		case WIRE_ARRAY(frames):
		case WIRE_ARRAY(totals):
		case WIRE_ARRAY(values):
		case WIRE_ARRAY(words):
			*(struct wire_frames *)at = (struct wire_frames){ frames, n };
			break;
		default:
			*(uint32_t *)at = i + 1;
		}
	}
}

/* Encodes a whole record, including the gap before a blob. */
static size_t encode(const struct wire_type *type, const void *view, char *ret)
{
	size_t size = wire_encode(type, view, ret, NULL);

	assert_int_equal(size, wire_encoded_size(type, view));
	assert_int_equal(size, ((struct wire_header *)ret)->size);
	return size;
}

static _Alignas(8) char record[BUFFER_SIZE], again[BUFFER_SIZE], damaged[BUFFER_SIZE];

static void test_round_trip_of_every_type(void **state)
{
	for (size_t i = 0; i < wire_n_types; i++) {
		for (size_t n = 0; n < 9; n++) {
			union wire_view view, decoded;
			size_t size;

			fill_view(wire_types[i], &view, n < 8 ? n : 7);
			size = encode(wire_types[i], &view, record);
			assert_int_equal(wire_decode(wire_types[i], record, size, 0, &decoded),
					 WIRE_OK);
			assert_int_equal(encode(wire_types[i], &decoded, again), size);
			assert_memory_equal(record, again, size);
		}
	}
}

/* Whether a record of this size ends where an earlier version's fields end. */
static bool is_of_earlier_version(const struct wire_type *type, const void *view, size_t size)
{
	for (size_t n = 0; n < type->n_fields; n++) {
		struct wire_type earlier = *type;

		earlier.n_fields = n;
		if (type->fields[n].since && wire_encoded_size(&earlier, view) == size)
			return true;
	}
	return false;
}

static void test_every_truncation_is_rejected(void **state)
{
	for (size_t i = 0; i < wire_n_types; i++) {
		union wire_view view, decoded;
		size_t size;

		fill_view(wire_types[i], &view, 5);
		size = encode(wire_types[i], &view, record);
		for (size_t cut = 0; cut < size; cut++) {
			/* The stream ends within the record. */
			assert_int_equal(wire_decode(wire_types[i], record, cut, 0, &decoded),
					 WIRE_E_MORE);
			if (cut < sizeof(struct wire_header))
				continue;
			/* The header's size is too small for the fields. */
			memcpy(damaged, record, size);
			((struct wire_header *)damaged)->size = cut;
			assert_int_equal(wire_decode(wire_types[i], damaged, size, 0, &decoded) ==
						 WIRE_OK,
					 is_of_earlier_version(wire_types[i], &view, cut));
		}
	}
}

static void test_every_bit_flip_is_rejected_or_valid(void **state)
{
	for (size_t i = 0; i < wire_n_types; i++) {
		union wire_view view;
		size_t size;

		fill_view(wire_types[i], &view, 5);
		size = encode(wire_types[i], &view, record);
		for (size_t bit = 0; bit < size * 8; bit++) {
			memcpy(damaged, record, size);
			damaged[bit / 8] ^= 1 << bit % 8;
			if (wire_decode(wire_types[i], damaged, size, 0, &view))
				continue;
			/* A decoded record has only this encoding, or fewer fields. */
			if (is_of_earlier_version(wire_types[i], &view,
						  ((struct wire_header *)damaged)->size))
				continue;
			assert_int_equal(encode(wire_types[i], &view, again), size);
			assert_memory_equal(damaged, again, size);
		}
	}
}

static void test_limits_are_refused_by_both_sides(void **state)
{
	const struct wire_type *type = wire_type(WIRE_RECORD_thread);
	struct wire_thread thread = { .name = wire_string("0123456789", 64) };
	size_t size = encode(type, &thread, record);
	uint64_t *n = (uint64_t *)(record + size - 16 - 8);

	assert_int_equal(*n, 10);
	*n = 65;
	assert_int_equal(wire_decode(type, record, size, 0, &thread), WIRE_E_LIMIT);
	*n = UINT64_MAX;
	assert_int_equal(wire_decode(type, record, size, 0, &thread), WIRE_E_LIMIT);
	thread.name.size = 65;
	assert_int_equal(wire_encoded_size(type, &thread), 0);
}

static void test_a_string_holds_no_zero(void **state)
{
	const struct wire_type *type = wire_type(WIRE_RECORD_thread);
	struct wire_thread thread = { .name = { "ab\0cd", 5 } };
	size_t size = encode(type, &thread, record);

	assert_int_equal(wire_decode(type, record, size, 0, &thread), WIRE_E_TEXT);
}

static void test_nothing_follows_the_end_of_a_fixed_text(void **state)
{
	const struct wire_type *type = wire_type(WIRE_RECORD_hello);
	struct wire_hello hello = { .magic = WIRE_MAGIC, .image_server = "somewhere" };
	size_t size = encode(type, &hello, record);
	char *text = memmem(record, size, "somewhere", 9);

	assert_non_null(text);
	text[10] = 'x';
	assert_int_equal(wire_decode(type, record, size, 0, &hello), WIRE_E_PADDING);
	memset(text, 'x', sizeof(hello.image_server));
	assert_int_equal(wire_decode(type, record, size, 0, &hello), WIRE_E_TEXT);
}

static void test_eight_zeros_follow_a_blob(void **state)
{
	static const char stack[WIRE_GAP_MIN] = { 1 };
	const struct wire_type *type = wire_type(WIRE_RECORD_sample);
	struct wire_sample sample = { 0 };

	for (size_t size = 0; size < 20; size++) {
		sample.stack = (struct wire_blob){ stack, size };
		size_t whole = encode(type, &sample, record);

		assert_int_equal(wire_decode(type, record, whole, 0, &sample), WIRE_OK);
		for (size_t i = 0; i < 8; i++)
			assert_int_equal(((const char *)sample.stack.data)[size + i], 0);
	}
}

static void test_a_large_blob_is_skipped_when_asked(void **state)
{
	static char stack[WIRE_GAP_MIN + 3];
	const struct wire_type *type = wire_type(WIRE_RECORD_sample);
	struct wire_sample sample = { .stack = { stack, sizeof(stack) } };
	struct wire_gap gap;
	size_t whole, size;

	memset(stack, 's', sizeof(stack));
	whole = encode(type, &sample, record);
	size = wire_encode(type, &sample, again, &gap);
	assert_ptr_equal(gap.data, stack);
	assert_int_equal(size + gap.size, whole);
	assert_memory_equal(again, record, gap.offset);
	assert_memory_equal(record + gap.offset, stack, gap.size);
	assert_memory_equal(again + gap.offset, record + gap.offset + gap.size, size - gap.offset);
}

static void test_appended_fields_may_be_missing(void **state)
{
	static const struct wire_field fields[] = {
		{ .name = "old", .kind = WIRE_U64, .offset = 0 },
		{ .name = "new", .kind = WIRE_U64, .offset = 8, .since = 1 },
		{ .name = "newer", .kind = WIRE_U64, .offset = 16, .since = 2 },
	};
	struct wire_type now = { "t", "", 200, 24, fields, 3 };
	struct wire_type before = { "t", "", 200, 24, fields, 1 };
	uint64_t view[3] = { 1, 2, 3 };
	size_t size = encode(&before, view, record);

	assert_int_equal(wire_decode(&now, record, size, 0, view), WIRE_OK);
	assert_int_equal(view[0], 1);
	assert_int_equal(view[1], 0);
	assert_int_equal(view[2], 0);

	/* Extra fields are refused unless the peer has a newer version. */
	view[1] = 2;
	size = encode(&now, view, record);
	assert_int_equal(wire_decode(&before, record, size, 0, view), WIRE_E_LONG);
	assert_int_equal(wire_decode(&before, record, size, WIRE_VERSION_MINOR, view), WIRE_E_LONG);
	assert_int_equal(wire_decode(&before, record, size, WIRE_VERSION_MINOR + 1, view), WIRE_OK);
}

/* The bytes of a version 1.0 stage. */
static void test_an_image_id_of_version_1_0_is_read(void **state)
{
	static const _Alignas(8) struct {
		struct wire_header header;
		uint64_t image, n_build_id;
		char build_id[16];
	} old = { { sizeof(old), 13, 0 }, 3, 5, "build" };
	struct wire_image_id view;

	memset(&view, 0xff, sizeof(view));
	assert_int_equal(wire_decode(wire_type(WIRE_RECORD_image_id), &old, sizeof(old), 0, &view),
			 WIRE_OK);
	assert_int_equal(view.image, 3);
	assert_int_equal(view.build_id.size, 5);
	assert_string_equal(view.file_id, "");
}

static void test_ids_are_unique_and_limits_hold(void **state)
{
	for (size_t i = 0; i < wire_n_types; i++) {
		assert_ptr_equal(wire_type(wire_types[i]->id), wire_types[i]);
		for (size_t k = 0; k < wire_types[i]->n_fields; k++) {
			const struct wire_field *field = &wire_types[i]->fields[k];

			if (field->kind == WIRE_TEXT)
				assert_int_equal(field->limit % 8, 0);
		}
	}
	assert_null(wire_type(0));
	assert_null(wire_type(65535));
}

static void test_header(void **state)
{
	struct wire_header header = { 8, 1, 0 };

	assert_int_equal(wire_check_header(&header, 8), WIRE_OK);
	assert_int_equal(wire_check_header(&header, 7), WIRE_E_MORE);
	header.size = 12;
	assert_int_equal(wire_check_header(&header, 8), WIRE_E_SIZE);
	header.size = 0;
	assert_int_equal(wire_check_header(&header, 8), WIRE_E_SIZE);
	header.size = WIRE_RECORD_MAX + 8;
	assert_int_equal(wire_check_header(&header, 8), WIRE_E_SIZE);
	header = (struct wire_header){ 8, WIRE_TYPE_MAX, 0 };
	assert_int_equal(wire_check_header(&header, 8), WIRE_E_TYPE);
	header = (struct wire_header){ 8, 1, 1 };
	assert_int_equal(wire_check_header(&header, 8), WIRE_E_PADDING);
}

static void test_ends_of_stacks_fit_tables(void **state)
{
	for (size_t i = 0; i < wire_names_stack_end.n; i++)
		assert_true(wire_names_stack_end.names[i].number < WIRE_STACK_ENDS_MAX);
}

static void test_each_outcome_has_a_text_of_its_own(void **state)
{
	for (int i = WIRE_OK; i <= WIRE_E_COMPRESSED + 1; i++)
		for (int k = WIRE_OK; k < i; k++)
			assert_string_not_equal(wire_outcome_text(i), wire_outcome_text(k));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_of_every_type),
		cmocka_unit_test(test_every_truncation_is_rejected),
		cmocka_unit_test(test_every_bit_flip_is_rejected_or_valid),
		cmocka_unit_test(test_limits_are_refused_by_both_sides),
		cmocka_unit_test(test_a_string_holds_no_zero),
		cmocka_unit_test(test_nothing_follows_the_end_of_a_fixed_text),
		cmocka_unit_test(test_eight_zeros_follow_a_blob),
		cmocka_unit_test(test_a_large_blob_is_skipped_when_asked),
		cmocka_unit_test(test_appended_fields_may_be_missing),
		cmocka_unit_test(test_an_image_id_of_version_1_0_is_read),
		cmocka_unit_test(test_ids_are_unique_and_limits_hold),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_ends_of_stacks_fit_tables),
		cmocka_unit_test(test_each_outcome_has_a_text_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
