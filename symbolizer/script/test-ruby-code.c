/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, files and lines of Ruby's code, as memory has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/ruby-code.h"

enum {
	SIZE = 144,
	COUNT_AT = 4,
	CODE_AT = 8,
	LINE_AT = 88,
	ENTRIES_AT = 128,
	HEAD = 24,
	LENGTH_AT = 16,
	SHORT_AT = 14, /* in flags */
	STRING = 5,
	STRING_ELSEWHERE = 0x2005,
	ARRAY = 0x2007,
	OBJECT = 40,
	ENTRY = 12,
	NEAR = 54,
	BLOCK_WORDS = 512,
};

static const struct ruby_fields since_3_2 = {
	.body_size = SIZE,
	.body_count = COUNT_AT,
	.body_code = CODE_AT,
	.body_line = LINE_AT,
	.body_entries = ENTRIES_AT,
	.text = HEAD,
	.text_length = LENGTH_AT,
	.text_short = -1,
};

static struct ruby_fields fields;

static struct {
	char bytes[16384];
	size_t size;
} made;

static void begin(uint32_t n_words, uint32_t n_entries)
{
	const uint32_t line = 3 << 1 | 1;

	memset(&made, 0, sizeof(made));
	memcpy(made.bytes + COUNT_AT, &n_words, sizeof(n_words));
	memcpy(made.bytes + LINE_AT, &line, sizeof(line));
	memcpy(made.bytes + ENTRIES_AT, &n_entries, sizeof(n_entries));
	made.size = SIZE;
}

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

static void put_string(uint64_t flags, uint64_t n, const char *text, size_t at, size_t n_read)
{
	char object[4096] = { 0 };

	memcpy(object, &flags, sizeof(flags));
	memcpy(object + LENGTH_AT, &n, sizeof(n));
	memcpy(object + at, text, n_read);
	put_piece(object, at + n_read);
}

static void put_text(const char *text)
{
	put_string(STRING, strlen(text), text, HEAD, strlen(text));
}

/* Entries with these lines, and where each begins. */
static void put_lines(uint32_t n_words, const uint32_t (*entries)[2], size_t n)
{
	uint32_t table[256][3] = { 0 };
	uint64_t near[6] = { 0 };
	char positions[1024] = { 0 };
	size_t rank = 0, n_near = n_words < NEAR ? (n_words + 8) / 9 : 6;

	for (size_t i = 0; i < n; i++)
		table[i][0] = entries[i][1];
	for (uint32_t i = 0; i < n_near * 9; i++) {
		rank += rank < n && entries[rank][0] == i;
		near[i / 9] |= (uint64_t)rank << i % 9 * 7;
	}
	memcpy(positions, near, n_near * 8);
	for (uint32_t block = 0; NEAR + block * BLOCK_WORDS < n_words; block++) {
		char *at = positions + sizeof(near) + block * 80;
		uint64_t ranks = 0, bits;
		uint32_t first = rank, before;

		memcpy(at, &first, sizeof(first));
		for (uint32_t j = 0; j < 8; j++) {
			before = rank - first;
			ranks |= j ? (uint64_t)before << (j - 1) * 9 : 0;
			bits = 0;
			for (uint32_t i = 0; i < 64; i++) {
				uint32_t word = NEAR + block * BLOCK_WORDS + j * 64 + i;

				if (rank >= n || entries[rank][0] != word)
					continue;
				bits |= 1ULL << i;
				rank++;
			}
			memcpy(at + 16 + j * 8, &bits, sizeof(bits));
		}
		memcpy(at + 8, &ranks, sizeof(ranks));
	}
	put_piece(table, n * ENTRY);
	put_piece(positions, sizeof(positions));
}

static void put_nothing(size_t n)
{
	while (n--)
		put_piece(NULL, 0);
}

/* The caller frees the bytes. */
static struct ruby_code decode(void)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };
	struct ruby_code code;

	assert_int_equal(ruby_code_decode(&fields, &record, &code), 0);
	return code;
}

static void check_names(const char *name, const char *file)
{
	struct ruby_code code = decode();

	assert_string_equal(code.text.name, name);
	assert_string_equal(code.text.file, file);
	free(code.bytes);
}

static int set_up(void **state)
{
	fields = since_3_2;
	return 0;
}

static void test_names_and_files(void **state)
{
	begin(10, 0);
	put_text("block in find");
	put_text("/srv/app.rb");
	put_nothing(3);
	check_names("block in find", "/srv/app.rb");
	/* An array of the path and the real path. */
	begin(10, 0);
	put_text("App#find");
	put_string(ARRAY, 1, "\0\0\0\0\0\0\0", HEAD, 8);
	put_text("app.rb");
	put_nothing(2);
	check_names("App#find", "app.rb");
	/* The text was elsewhere: the source has put it behind the head. */
	begin(10, 0);
	put_string(STRING_ELSEWHERE, 4, "find", HEAD, 4);
	put_text("a.rb");
	put_nothing(3);
	check_names("find", "a.rb");
}

static void test_short_names_are_in_the_head(void **state)
{
	fields.text = OBJECT;
	fields.text_short = SHORT_AT;
	begin(10, 0);
	put_string(STRING | 4 << SHORT_AT, 0, "find....................", LENGTH_AT,
		   OBJECT - LENGTH_AT);
	put_string(STRING_ELSEWHERE, 27, "/srv/application/current.rb", OBJECT, 27);
	put_nothing(3);
	check_names("find", "/srv/application/current.rb");
}

static void test_what_was_not_in_memory_has_no_name(void **state)
{
	begin(10, 0);
	put_nothing(5);
	check_names("", "");
	begin(10, 0);
	put_string(ARRAY, 4, "find", HEAD, 4); /* no string */
	put_text("a.rb");
	put_nothing(3);
	check_names("", "a.rb");
}

static void test_names_end(void **state)
{
	static char text[2000];
	struct ruby_code code;

	memset(text, 'x', sizeof(text));
	begin(10, 0);
	put_string(STRING, UINT64_MAX, text, HEAD, sizeof(text));
	put_string(STRING, 6, "a.rb\0b", HEAD, 6);
	put_nothing(3);
	code = decode();
	assert_int_equal(strlen(code.text.name), SCRIPT_TEXT_MAX - 1);
	assert_string_equal(code.text.file, "a.rb");
	free(code.bytes);
}

/* What is executed next is behind what has a line. */
static void check_line(const struct ruby_code *code, uint32_t word, uint32_t line)
{
	assert_int_equal(ruby_lines_find(&code->lines, word + 1), line);
}

static void test_lines_near_and_far(void **state)
{
	static const uint32_t entries[][2] = { { 0, 7 },    { 9, 8 },	 { 53, 9 },   { 54, 10 },
					       { 118, 11 }, { 300, 12 }, { 565, 13 }, { 566, 14 } };
	struct ruby_code code;

	begin(600, 8);
	put_nothing(3);
	put_lines(600, entries, 8);
	code = decode();
	check_line(&code, 0, 7);
	check_line(&code, 8, 7);
	check_line(&code, 9, 8);
	check_line(&code, 52, 8);
	check_line(&code, 53, 9);
	check_line(&code, 54, 10);
	check_line(&code, 117, 10);
	check_line(&code, 118, 11);
	check_line(&code, 299, 11);
	check_line(&code, 300, 12);
	check_line(&code, 565, 13);
	check_line(&code, 566, 14);
	check_line(&code, 599, 14);
	check_line(&code, 600, 0); /* behind the code */
	assert_int_equal(ruby_lines_find(&code.lines, 0), 7);
	free(code.bytes);
}

static void test_code_of_one_line_and_of_none(void **state)
{
	static const uint32_t entry[][2] = { { 0, 7 } };
	struct ruby_code code;

	begin(20, 1);
	put_nothing(3);
	put_lines(20, entry, 1);
	code = decode();
	check_line(&code, 19, 7);
	free(code.bytes);
	fields.line_shift = 1;
	begin(20, 0);
	put_nothing(5);
	code = decode();
	assert_int_equal(ruby_lines_find(&code.lines, 0), 3); /* that of the function */
	free(code.bytes);
	begin(20, 2); /* its table was not in memory */
	put_nothing(5);
	code = decode();
	assert_int_equal(ruby_lines_find(&code.lines, 4), 0);
	free(code.bytes);
}

/* Nobody knows how far the last line goes that was read. */
static void test_tables_that_are_cut(void **state)
{
	static const uint32_t entries[][2] = { { 0, 7 }, { 5, 8 }, { 9, 9 } };
	struct ruby_code code;

	begin(20, 4);
	put_nothing(3);
	put_lines(20, entries, 3);
	code = decode();
	check_line(&code, 4, 7);
	check_line(&code, 5, 8);
	check_line(&code, 9, 0);
	free(code.bytes);
}

static void test_damaged_records_are_refused(void **state)
{
	static const uint32_t entries[][2] = { { 0, 7 }, { 5, 8 } };

	begin(20, 2);
	put_text("find");
	put_text("a.rb");
	put_nothing(1);
	put_lines(20, entries, 2);
	for (size_t size = 0; size < made.size - 8; size++) {
		char *copy = test_malloc(size ? size : 1);
		const struct wire_memory record = { .bytes = { copy, size } };
		struct ruby_code code;

		memcpy(copy, made.bytes, size);
		assert_int_equal(ruby_code_decode(&fields, &record, &code), 1);
		test_free(copy);
	}
	begin(1 << 20, 2); /* more words than places can tell apart */
	put_nothing(5);
	assert_int_equal(
		ruby_code_decode(&fields,
				 &(struct wire_memory){ .bytes = { made.bytes, made.size } },
				 &(struct ruby_code){ 0 }),
		1);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_names_and_files),
		TEST(test_short_names_are_in_the_head),
		TEST(test_what_was_not_in_memory_has_no_name),
		TEST(test_names_end),
		TEST(test_lines_near_and_far),
		TEST(test_code_of_one_line_and_of_none),
		TEST(test_tables_that_are_cut),
		TEST(test_damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
