/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/source/kernel-symbol.h"
#include "common/stage/test-stream.h"

enum { NAME_ROOM = 600 };

static struct test_stream stream;
static union wire_view view;

static int set_up(void **state)
{
	test_stream_init(&stream);
	return 0;
}

static int tear_down(void **state)
{
	test_stream_deinit(&stream);
	return 0;
}

/* A record in the kernel's layout, in a block of its exact size; the caller frees it. */
static struct perf_record_ksymbol *build(const char *name, size_t name_size)
{
	size_t size =
		sizeof(struct perf_record_ksymbol) + name_size + sizeof(struct perf_record_id);
	struct perf_record_ksymbol *record = malloc(size);

	assert_int_equal(sizeof(*record), 24);
	memset(record, 0x55, size);
	*record = (struct perf_record_ksymbol){
		.header = { PERF_RECORD_KSYMBOL, 0, size },
		.address = 0xffffffffc0001234,
		.size = 0x89abcdef,
		.kind = PERF_RECORD_KSYMBOL_TYPE_BPF,
	};
	memcpy(record->name, name, name_size);
	return record;
}

static void put(const struct perf_record_ksymbol *record)
{
	assert_int_equal(kernel_symbol_put(&stream.stage, record, 77), 0);
}

static void assert_refused(uint64_t n)
{
	assert_int_equal(test_stream_next(&stream, &view), 0);
	assert_int_equal(*counters_get(&stream.stage.counters, "refused", "kernel-symbols"), n);
}

static void test_added_and_removed_code_is_emitted(void **state)
{
	struct perf_record_ksymbol *record = build("bpf_prog_x\0\0\0\0\0", 16);

	assert_true(perf_record_is_whole(&record->header));
	put(record);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_kernel_symbol);
	assert_int_equal(view.kernel_symbol.time, 77);
	assert_int_equal(view.kernel_symbol.address, 0xffffffffc0001234);
	assert_int_equal(view.kernel_symbol.size, 0x89abcdef);
	assert_int_equal(view.kernel_symbol.flags, 0);
	assert_int_equal(view.kernel_symbol.kind, WIRE_kernel_symbol_kind_BPF);
	assert_string_equal(view.kernel_symbol.name.data, "bpf_prog_x");

	record->flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER | 0x8000; /* plus a future flag */
	record->kind = PERF_RECORD_KSYMBOL_TYPE_OOL;
	put(record);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_kernel_symbol);
	assert_int_equal(view.kernel_symbol.flags, WIRE_kernel_symbol_flags_GONE);
	assert_int_equal(view.kernel_symbol.kind, WIRE_kernel_symbol_kind_OUT_OF_LINE);

	record->flags = 0xfffe;
	record->kind = 0xffff;
	put(record);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_kernel_symbol);
	assert_int_equal(view.kernel_symbol.flags, 0);
	assert_int_equal(view.kernel_symbol.kind, 0xffff);
	assert_refused(0);
	free(record);
}

/* The kernel's KSYM_NAME_LEN is 512. */
static void test_a_long_name_is_cut(void **state)
{
	char name[NAME_ROOM] = "";
	struct perf_record_ksymbol *record;

	memset(name, 'n', 511);
	record = build(name, 512);
	put(record);
	assert_int_equal(test_stream_next(&stream, &view), WIRE_RECORD_kernel_symbol);
	assert_int_equal(view.kernel_symbol.name.size, 255);
	free(record);
}

static void test_a_name_without_an_end_is_refused(void **state)
{
	struct perf_record_ksymbol *record = build("12345678", 8);

	put(record); /* zero bytes follow it at most outside the record */
	assert_refused(1);
	free(record);
}

/* Every smaller size, in a block of that size. */
static void test_every_truncation_is_refused(void **state)
{
	struct perf_record_ksymbol *whole = build("1234567", 8);
	uint64_t n = 0;

	for (uint16_t size = sizeof(whole->header); size < whole->header.size; size++) {
		struct perf_record_ksymbol *cut = malloc(size);

		memcpy(cut, whole, size);
		cut->header.size = size;
		if (size < sizeof(*whole)) {
			assert_false(perf_record_is_whole(&cut->header));
		} else {
			assert_true(perf_record_is_whole(&cut->header));
			put(cut);
			n++;
		}
		free(cut);
	}
	assert_refused(n);
	free(whole);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_added_and_removed_code_is_emitted),
		TEST(test_a_long_name_is_cut),
		TEST(test_a_name_without_an_end_is_refused),
		TEST(test_every_truncation_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
