/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of places in texts that come in parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <uchar.h>

#include <cmocka.h>

#include "common/script/script-walk.h"
#include "symbolizer/script/script-sources.h"

enum { PROCESS = 3, OWNER = 0x1000, IDENTITY = 77, PART = WALK_CHUNK_SIZE };

static const struct script_source_key key = { PROCESS, OWNER, IDENTITY };

/* Takes the part of a text of `size` bytes that begins at an offset, or only some bytes of it. */
static void take(struct script_sources *sources, const void *text, uint32_t size, uint32_t unit,
		 uint32_t offset, uint32_t n)
{
	char bytes[sizeof(struct walk_source_part) + PART];
	const struct walk_source_part part = { offset, size, unit, 0 };
	const struct wire_memory record = {
		.process = PROCESS,
		.address = OWNER + 1,
		.identity = IDENTITY,
		.bytes = { bytes, sizeof(part) + n },
	};

	assert_true(script_sources_is_part(&record));
	memcpy(bytes, &part, sizeof(part));
	memcpy(bytes + sizeof(part), (const char *)text + offset, n);
	assert_int_equal(script_sources_take(sources, &record), 0);
}

static uint32_t size_of_part(uint32_t size, uint32_t offset)
{
	return size - offset < PART ? size - offset : PART;
}

/* Takes all parts of a text, the last one first. */
static void take_all(struct script_sources *sources, const void *text, uint32_t size, uint32_t unit)
{
	for (uint32_t i = (size + PART - 1) / PART; i-- > 0;)
		take(sources, text, size, unit, i * PART, size_of_part(size, i * PART));
}

static uint32_t line_of(struct script_sources *sources, uint32_t position)
{
	const struct script_origin origin = { key, position, 0 };

	return script_sources_find_line(sources, &origin);
}

static void test_lines_end_as_the_language_says(void **state)
{
	static const char text[] = "a\nb\r\nc\rd\n\re";
	struct script_sources sources = { 0 };

	take_all(&sources, text, sizeof(text) - 1, 1);
	assert_int_equal(line_of(&sources, 0), 1);
	assert_int_equal(line_of(&sources, 1), 1); /* the end itself */
	assert_int_equal(line_of(&sources, strcspn(text, "b")), 2);
	assert_int_equal(line_of(&sources, strcspn(text, "c")), 3);
	assert_int_equal(line_of(&sources, strcspn(text, "d")), 4);
	assert_int_equal(line_of(&sources, strcspn(text, "e")), 6);
	assert_int_equal(line_of(&sources, sizeof(text) - 1), 6);
	assert_int_equal(line_of(&sources, sizeof(text)), 0); /* behind the text */
	script_sources_deinit(&sources);
}

/* Two more characters end lines, and the bytes of others do not. */
static void test_wide_characters_have_two_bytes(void **state)
{
	static const char16_t text[] = u"\u0a0a\u2028b\u2029c\nd";
	struct script_sources sources = { 0 };

	take_all(&sources, text, sizeof(text) - sizeof(*text), sizeof(*text));
	assert_int_equal(line_of(&sources, 0), 1);
	assert_int_equal(line_of(&sources, 2), 2);
	assert_int_equal(line_of(&sources, 4), 3);
	assert_int_equal(line_of(&sources, 6), 4);
	script_sources_deinit(&sources);
}

static void test_lines_are_counted_through_parts(void **state)
{
	static char text[3 * PART + 10];
	struct script_sources sources = { 0 };

	memset(text, 'x', sizeof(text));
	memcpy(text + PART - 1, "\r\n", 2); /* one end of a line, in two parts */
	memcpy(text + 2 * PART - 1, "\rx", 2);
	memcpy(text + 3 * PART, "\n", 1);
	take_all(&sources, text, sizeof(text), 1);
	assert_int_equal(line_of(&sources, PART - 1), 1);
	assert_int_equal(line_of(&sources, PART + 1), 2);
	assert_int_equal(line_of(&sources, 2 * PART), 3);
	assert_int_equal(line_of(&sources, 3 * PART), 3);
	assert_int_equal(line_of(&sources, 3 * PART + 1), 4);
	script_sources_deinit(&sources);
}

static void test_a_text_may_begin_behind_the_first_line(void **state)
{
	const struct script_origin later = { key, 2, 40 }, before = { key, 2, -2 };
	struct script_sources sources = { 0 };

	take_all(&sources, "a\nb", 3, 1);
	assert_int_equal(script_sources_find_line(&sources, &later), 42);
	assert_int_equal(script_sources_find_line(&sources, &before), 0);
	script_sources_deinit(&sources);
}

/* No line is told as long as one might be missing. */
static void test_lines_wait_for_all_parts(void **state)
{
	static char text[PART + 1];
	struct script_sources sources = { 0 };

	memset(text, '\n', sizeof(text));
	assert_int_equal(line_of(&sources, 5), 0);
	take(&sources, text, sizeof(text), 1, 0, PART);
	take(&sources, text, sizeof(text), 1, 0, PART);
	assert_int_equal(line_of(&sources, 5), 0);
	assert_false(script_sources_has(&sources, &key));
	assert_int_equal(sources.n_whole, 0);
	take(&sources, text, sizeof(text), 1, PART, 1);
	assert_true(script_sources_has(&sources, &key));
	assert_int_equal(sources.n_whole, 1);
	assert_int_equal(line_of(&sources, 5), 6);
	assert_int_equal(line_of(&sources, PART + 1), PART + 2);
	script_sources_deinit(&sources);
}

static void test_damaged_parts_are_refused(void **state)
{
	static const char text[PART];
	struct script_sources sources = { 0 };

	take(&sources, text, 8, 1, 0, 7);    /* cut */
	take(&sources, text, 8, 3, 0, 8);    /* no such characters */
	take(&sources, text, 7, 2, 0, 7);    /* half a character */
	take(&sources, text, 8, 1, 8, 0);    /* behind the end */
	take(&sources, text, 20, 1, 10, 10); /* within a part */
	take(&sources, text, SCRIPT_SOURCE_MAX + 1, 1, 0, PART);
	assert_int_equal(sources.n_refused, 6);
	take(&sources, text, 8, 1, 0, 8);
	take(&sources, text, 9, 1, 0, 9); /* of another text */
	assert_int_equal(sources.n_refused, 7);
	assert_int_equal(line_of(&sources, 4), 1);
	script_sources_deinit(&sources);
}

static void test_texts_are_forgotten_with_their_process(void **state)
{
	struct script_sources sources = { 0 };

	take_all(&sources, "a\nb", 3, 1);
	script_sources_forget(&sources, PROCESS + 1);
	assert_int_equal(line_of(&sources, 2), 2);
	script_sources_forget(&sources, PROCESS);
	assert_int_equal(line_of(&sources, 2), 0);
	assert_int_equal(sources.n_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines_end_as_the_language_says),
		cmocka_unit_test(test_wide_characters_have_two_bytes),
		cmocka_unit_test(test_lines_are_counted_through_parts),
		cmocka_unit_test(test_a_text_may_begin_behind_the_first_line),
		cmocka_unit_test(test_lines_wait_for_all_parts),
		cmocka_unit_test(test_damaged_parts_are_refused),
		cmocka_unit_test(test_texts_are_forgotten_with_their_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
