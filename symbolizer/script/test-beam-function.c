/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of Erlang have their names and files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/script/beam-function.h"

enum {
	CELLS = 96,
	LIST = 0x7000,
	NIL = 0x3b,
	SIZE = 40,
	ARITY_AT = 32,
	ARITY = 3,
	ATOM = 40,
	LENGTH_AT = 24
};

static const struct beam_fields fields = {
	.function_size = SIZE,
	.function_arity = ARITY_AT,
	.atom_size = ATOM,
	.atom_length = LENGTH_AT,
};

static struct {
	char bytes[16384];
	size_t size;
} made;
static struct script_code_text text;

static void put_piece(const void *bytes, uint64_t size)
{
	memcpy(made.bytes + made.size, &size, sizeof(size));
	if (size)
		memcpy(made.bytes + made.size + sizeof(size), bytes, size);
	made.size += sizeof(size) + ((size + 7) & ~7UL);
}

/* What lies behind a name in memory is read with it. */
static void put_atom(const char *name)
{
	char atom[ATOM] = { 0 }, read[4096];
	uint16_t length = name ? strlen(name) : 0;

	memcpy(atom + LENGTH_AT, &length, sizeof(length));
	put_piece(atom, name ? sizeof(atom) : 0);
	memset(read, 'x', sizeof(read));
	memcpy(read, name ? name : "", length);
	put_piece(read, name ? length + 9 : 0);
}

/* The first cell comes last; what is read begins with other cells. */
static void put_list(const char *name)
{
	uint64_t cells[CELLS][2] = { 0 };
	size_t n = name ? strlen(name) : 0;

	for (size_t i = 0; i < n && i < CELLS; i++) {
		cells[CELLS - 1 - i][0] = (uint64_t)name[i] << 4 | 0xf;
		cells[CELLS - 1 - i][1] = i + 1 == n ? NIL : (LIST - i * sizeof(cells[0])) | 1;
	}
	put_piece(cells, n ? sizeof(cells) : 0);
}

static void make(const char *module, const char *function, const char *file)
{
	memset(&made, 0, sizeof(made));
	made.bytes[ARITY_AT] = ARITY;
	made.size = SIZE;
	put_atom(module);
	put_atom(function);
	put_list(file);
}

static bool decode(void)
{
	const struct wire_memory record = { .bytes = { made.bytes, made.size } };

	return beam_function_decode(&fields, &record, &text);
}

static void test_names_are_as_erlang_writes_them(void **state)
{
	make("lists", "map", NULL);
	assert_true(decode());
	assert_string_equal(text.name, "lists:map/3");
	assert_string_equal(text.file, "");
	make("Elixir.Enum", "-reduce/3-fun-0-", "lib/enum.ex");
	assert_true(decode());
	assert_string_equal(text.name, "Elixir.Enum:-reduce/3-fun-0-/3");
	assert_string_equal(text.file, "lib/enum.ex");
}

static void test_a_name_that_was_not_in_memory_is_none(void **state)
{
	make(NULL, "map", NULL);
	assert_true(decode());
	assert_string_equal(text.name, "");
	make("lists", NULL, NULL);
	assert_true(decode());
	assert_string_equal(text.name, "");
}

static void test_damaged_records_are_refused(void **state)
{
	make("lists", "map", NULL);
	made.size -= 16;
	assert_false(decode());
	made.size = SIZE - 1;
	assert_false(decode());
}

static void test_a_list_ends_where_it_is_none(void **state)
{
	uint64_t *cells;

	make("lists", "map", "abcdef");
	cells = (uint64_t *)(made.bytes + made.size - 4 * 16); /* of the fourth character */
	cells[0] = 0x1234;				       /* not one */
	assert_true(decode());
	assert_string_equal(text.file, "abc");
	make("lists", "map", "abcdef");
	cells = (uint64_t *)(made.bytes + made.size - 4 * 16);
	cells[1] += 32; /* the next one is elsewhere */
	assert_true(decode());
	assert_string_equal(text.file, "abcd");
}

static void test_names_are_cut_to_their_room(void **state)
{
	char name[3000];

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	make(name, name, name);
	assert_true(decode());
	assert_true(strlen(text.name) < SCRIPT_TEXT_MAX);
	assert_true(strlen(text.file) < SCRIPT_TEXT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_as_erlang_writes_them),
		cmocka_unit_test(test_a_name_that_was_not_in_memory_is_none),
		cmocka_unit_test(test_damaged_records_are_refused),
		cmocka_unit_test(test_a_list_ends_where_it_is_none),
		cmocka_unit_test(test_names_are_cut_to_their_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
