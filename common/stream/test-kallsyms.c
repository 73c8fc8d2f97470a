/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "common/stream/kallsyms.h"

/* Compresses a text as gzip does; the caller frees the result. */
static unsigned char *compress_text(const char *text, size_t size, size_t *ret_size)
{
	z_stream stream = { 0 };
	unsigned char *out = malloc(size + 1024);

	assert_int_equal(
		deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (Bytef *)text;
	stream.avail_in = size;
	stream.next_out = out;
	stream.avail_out = size + 1024;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	*ret_size = stream.total_out;
	deflateEnd(&stream);
	return out;
}

/* Reads bytes in pieces, as a stream delivers them. */
static struct kallsyms read_pieces(const void *bytes, size_t size)
{
	struct kallsyms kallsyms = { 0 };

	assert_int_equal(kallsyms_add(&kallsyms, bytes, 0), 0);
	for (size_t at = 0; at < size; at += 7)
		assert_int_equal(kallsyms_add(&kallsyms, (const char *)bytes + at,
					      size - at < 7 ? size - at : 7),
				 0);
	assert_int_equal(kallsyms_finish(&kallsyms), 0);
	return kallsyms;
}

static struct kallsyms read_text(const char *text)
{
	return read_pieces(text, strlen(text));
}

static void check(const struct kallsyms *kallsyms, uint64_t address, const char *name,
		  uint64_t expected_size)
{
	uint64_t size = 0;
	const struct kernel_symbol *symbol = kallsyms_find(kallsyms, address, &size);

	if (!name) {
		assert_null(symbol);
		return;
	}
	assert_non_null(symbol);
	assert_string_equal(symbol->name, name);
	assert_int_equal(size, expected_size);
}

static void test_functions_are_found_up_to_the_next(void **state)
{
	struct kallsyms kallsyms = read_text("ffffffff81000200 t second\n"
					     "ffffffff81000000 T first\n"
					     "ffffffff81000100 D data\n"
					     "ffffffff81000300 W third\n"
					     "ffffffff81000400 T _etext\n");

	assert_int_equal(kallsyms.n, 4);
	check(&kallsyms, 0xffffffff80ffffff, NULL, 0);
	check(&kallsyms, 0xffffffff81000000, "first", 0x200);
	check(&kallsyms, 0xffffffff810001ff, "first", 0x200);
	check(&kallsyms, 0xffffffff81000200, "second", 0x100);
	check(&kallsyms, 0xffffffff810003ff, "third", 0x100);
	check(&kallsyms, 0xffffffff81000400, NULL, 0);
	check(&kallsyms, 0, NULL, 0);
	check(&kallsyms, UINT64_MAX, NULL, 0);
	kallsyms_deinit(&kallsyms);
}

static void test_modules_are_reported(void **state)
{
	uint64_t size;
	struct kallsyms kallsyms = read_text("ffffffffc0000000 t one\t[nf_tables]\n"
					     "ffffffffc0000100 t two\t[broken\n"
					     "ffffffffc0000200 t three\tnothing\n"
					     "ffffffffc0000300 t four\n"
					     "ffffffffc0000400 t five\n");

	assert_string_equal(kallsyms_find(&kallsyms, 0xffffffffc0000000, &size)->module,
			    "nf_tables");
	assert_string_equal(kallsyms_find(&kallsyms, 0xffffffffc0000000, &size)->name, "one");
	assert_string_equal(kallsyms_find(&kallsyms, 0xffffffffc0000100, &size)->module, "broken");
	assert_string_equal(kallsyms_find(&kallsyms, 0xffffffffc0000300, &size)->module, "");
	kallsyms_deinit(&kallsyms);
}

/* Without modules the highest symbol is a BPF program. */
static void test_the_last_program_has_its_name(void **state)
{
	struct kallsyms kallsyms = read_text("ffffffff81000000 T _etext\n"
					     "ffffffffc0000000 t bpf_prog_1_first\t[bpf]\n"
					     "ffffffffc0000100 t bpf_prog_2_last\t[bpf]\n");

	check(&kallsyms, 0xffffffffc00000ff, "bpf_prog_1_first", 0x100);
	check(&kallsyms, 0xffffffffc0000100, "bpf_prog_2_last", KALLSYMS_LAST_BPF_SIZE);
	check(&kallsyms, 0xffffffffc00100ff, "bpf_prog_2_last", KALLSYMS_LAST_BPF_SIZE);
	check(&kallsyms, 0xffffffffc0010100, NULL, 0);
	kallsyms_deinit(&kallsyms);
}

static void test_the_first_of_several_names_is_used(void **state)
{
	struct kallsyms kallsyms = read_text("ffffffff81000000 T zeta\n"
					     "ffffffff81000000 T alpha\n"
					     "ffffffff81000000 t mu\n"
					     "ffffffff81000040 T end\n");

	check(&kallsyms, 0xffffffff81000010, "zeta", 0x40);
	kallsyms_deinit(&kallsyms);
}

static void test_malformed_lines_are_skipped(void **state)
{
	struct kallsyms kallsyms = read_text("ffffffff81000000 T good\n"
					     "\n"
					     "ffffffff81000010\n"
					     "ffffffff81000010 \n"
					     "ffffffff81000010 T\n"
					     "ffffffff81000010 T \n"
					     "fffffff81000010 T short\n"
					     "fffffffff81000010 T long\n"
					     "ffffffff8100001g T hexadecimal\n"
					     "ffffffff81000010 d data\n"
					     "ffffffff81000010 T\ttab\n"
					     "ffffffff81000010 T \t[module]\n"
					     "ffffffff81000010T joined\n"
					     "ffffffff81000100 T end");

	check(&kallsyms, 0xffffffff81000020, "good", 0x100);
	assert_int_equal(kallsyms.n, 2);
	kallsyms_deinit(&kallsyms);
}

/* As kallsyms shows them to unprivileged readers. */
static void test_hidden_addresses_give_no_names(void **state)
{
	struct kallsyms kallsyms = read_text("0000000000000000 T a\n0000000000000000 T b\n");

	check(&kallsyms, 0, NULL, 0);
	check(&kallsyms, 0xffffffff81000000, NULL, 0);
	kallsyms_deinit(&kallsyms);
}

static void test_an_empty_table_finds_nothing(void **state)
{
	struct kallsyms kallsyms = { 0 };

	check(&kallsyms, 0xffffffff81000000, NULL, 0);
	kallsyms_deinit(&kallsyms);
	kallsyms = read_text("");
	check(&kallsyms, 0xffffffff81000000, NULL, 0);
	assert_int_equal(kallsyms_finish(&kallsyms), 0); /* repeated */
	kallsyms_deinit(&kallsyms);
}

static void test_the_file_may_be_compressed(void **state)
{
	static const char text[] = "ffffffff81000000 T first\nffffffff81000200 T _etext\n";
	size_t size;
	unsigned char *bytes = compress_text(text, strlen(text), &size);
	struct kallsyms kallsyms = read_pieces(bytes, size);

	check(&kallsyms, 0xffffffff81000000, "first", 0x200);
	kallsyms_deinit(&kallsyms);
	free(bytes);
}

static void test_damaged_gzip_is_refused(void **state)
{
	static const char text[] = "ffffffff81000000 T plain\n";
	struct kallsyms kallsyms = { 0 };
	size_t size;
	unsigned char *bytes;

	assert_int_equal(kallsyms_finish(&kallsyms), -EBADMSG);
	kallsyms_deinit(&kallsyms);

	bytes = compress_text(text, sizeof(text) - 1, &size);
	for (size_t cut = 2; cut < size; cut++) { /* shorter input is not recognized as gzip */
		assert_int_equal(kallsyms_add(&kallsyms, bytes, cut), 0);
		assert_int_equal(kallsyms_finish(&kallsyms), -EBADMSG);
		check(&kallsyms, 0xffffffff81000000, NULL, 0);
		kallsyms_deinit(&kallsyms);
	}
	for (size_t bit = 0; bit < size * 8; bit++) {
		bytes[bit / 8] ^= 1 << bit % 8;
		assert_int_equal(kallsyms_add(&kallsyms, bytes, size), 0);
		kallsyms_finish(&kallsyms); /* refused or harmless */
		check(&kallsyms, 0xffffffff81000000, NULL, 0);
		kallsyms_deinit(&kallsyms);
		bytes[bit / 8] ^= 1 << bit % 8;
	}
	free(bytes);
}

static void test_oversized_input_is_refused_early(void **state)
{
	static char piece[1 << 20];
	struct kallsyms kallsyms = { 0 };

	for (int i = 0; i < KALLSYMS_TEXT_MAX >> 20; i++)
		assert_int_equal(kallsyms_add(&kallsyms, piece, sizeof(piece)), 0);
	assert_int_equal(kallsyms_add(&kallsyms, piece, 1), -EFBIG);
	assert_int_equal(kallsyms_add(&kallsyms, piece, SIZE_MAX), -EFBIG);
	assert_int_equal(kallsyms.size, KALLSYMS_TEXT_MAX);
	kallsyms_deinit(&kallsyms);
}

static void test_a_bomb_is_refused(void **state)
{
	struct kallsyms kallsyms = { 0 };
	char *zeros = calloc(1, KALLSYMS_TEXT_MAX + 1);
	size_t size;
	unsigned char *bytes = compress_text(zeros, KALLSYMS_TEXT_MAX + 1, &size);

	assert_int_equal(kallsyms_add(&kallsyms, bytes, size), 0);
	assert_int_equal(kallsyms_finish(&kallsyms), -EBADMSG);
	assert_null(kallsyms.text);
	kallsyms_deinit(&kallsyms);
	free(bytes);
	free(zeros);
}

static void test_further_functions_than_the_limit_are_skipped(void **state)
{
	enum { LINE = 21, N = KALLSYMS_MAX + 5 };
	struct kallsyms kallsyms = { 0 };
	char *text = malloc((size_t)LINE * N + 1);
	size_t at = 0;

	for (uint64_t i = 0; i < N; i++)
		at += sprintf(text + at, "%016lx t f\n", 0xffffffff00000000 + i);
	assert_int_equal(kallsyms_add(&kallsyms, text, at), 0);
	assert_int_equal(kallsyms_finish(&kallsyms), 0);
	assert_int_equal(kallsyms.n, KALLSYMS_MAX);
	check(&kallsyms, 0xffffffff00000000, "f", 1);
	kallsyms_deinit(&kallsyms);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_are_found_up_to_the_next),
		cmocka_unit_test(test_modules_are_reported),
		cmocka_unit_test(test_the_last_program_has_its_name),
		cmocka_unit_test(test_the_first_of_several_names_is_used),
		cmocka_unit_test(test_malformed_lines_are_skipped),
		cmocka_unit_test(test_hidden_addresses_give_no_names),
		cmocka_unit_test(test_an_empty_table_finds_nothing),
		cmocka_unit_test(test_the_file_may_be_compressed),
		cmocka_unit_test(test_damaged_gzip_is_refused),
		cmocka_unit_test(test_oversized_input_is_refused_early),
		cmocka_unit_test(test_a_bomb_is_refused),
		cmocka_unit_test(test_further_functions_than_the_limit_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
