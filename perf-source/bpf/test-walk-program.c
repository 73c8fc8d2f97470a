/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which walk programs are run: the kernel checks nothing of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf-source/bpf/walk-program.h"

static struct walk_program valid_program(void)
{
	return (struct walk_program){
		.lists = { { .window = 72, .next = 48, .limit = 512 } },
		.object = { .size = 200,
			    .pointer = 32,
			    .texts = { { .pointer = 128, .size = 304 } } },
	};
}

/* Frames on a stack, with the code that a compiler has made of them. */
static struct walk_program program_with_code(void)
{
	struct walk_program program = valid_program();

	program.lists[0].marks[0] = 2;
	program.lists[0].mark = 56;
	program.lists[0].marked_next = 64;
	program.object.kind_mask = program.object.kind = 1;
	program.object.kind_at = 64;
	program.object.texts[1] =
		(struct walk_text){ .pointer = 32, .size = 64, .of = 1, .count = 3 };
	program.code = (struct walk_code){
		.instruction = 64,
		.step = 64,
		.steps = WALK_STEPS_MAX,
		.start = 40,
		.size = 60,
		.kind = 63,
		.members_of = WALK_TEXTS_MAX,
		.count_of = WALK_TEXTS_MAX,
		.object = { .size = 64, .texts = { { .pointer = 56, .size = 96 } } },
	};
	return program;
}

/* Frames of made code. */
static struct walk_program program_with_frames(void)
{
	struct walk_program program = valid_program();

	program.lists[0].window = sizeof(struct walk_call);
	program.code.object.size = WALK_OBJECT_MAX;
	program.object.texts[0].length_at = 5;
	program.object.texts[1] = (struct walk_text){ .size = 64, .of = 1, .index_of = 1 };
	program.frames.heaps[0] = (struct walk_heap){ .from = 1, .to = 2, .shift = 7 };
	program.frames.patterns[0].where = WALK_WHERE_BEHIND_SAVED;
	program.frames.ranges[0][1].offset_size = 4;
	return program;
}

static void test_frames_of_made_code(void **state)
{
	struct walk_program program = program_with_frames();

	assert_true(walk_program_is_valid(&program));
	program.frames.heaps[1].from = 1;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.frames.heaps[0].shift = 64;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.frames.patterns[WALK_PATTERNS_MAX - 1].where = WALK_WHERE_BEHIND_SAVED + 1;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.frames.ranges[0][1].offset_size = 3;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.lists[0].window += 8;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.code.object.size += 8;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.object.texts[1].index_of = 2;
	assert_false(walk_program_is_valid(&program));
	program = program_with_frames();
	program.object.texts[0].length_at = WALK_HEAD_MAX;
	assert_false(walk_program_is_valid(&program));
}

static void test_a_list_with_objects_is_valid(void **state)
{
	struct walk_program program = valid_program();

	assert_true(walk_program_is_valid(&program));
	program.object.size = 0;
	assert_true(walk_program_is_valid(&program));
	program.lists[0].window = 0;
	assert_false(walk_program_is_valid(&program));
}

static void test_texts_of_texts_and_words_are_valid(void **state)
{
	struct walk_program program = valid_program();

	program.word = (struct walk_word){ .n_loads = 2, .pointer = 64, .index = 68 };
	program.object.texts[1] = (struct walk_text){ .pointer = 56, .size = 64, .of = 1 };
	assert_true(walk_program_is_valid(&program));
	program.object.texts[1].of = 2;
	assert_false(walk_program_is_valid(&program));
}

static void test_texts_may_be_part_of_the_text_before(void **state)
{
	struct walk_program program = valid_program();

	program.object.texts[1] =
		(struct walk_text){ .pointer = 32, .size = 16, .of = 1, .is_here = 1 };
	assert_true(walk_program_is_valid(&program));
	program.object.texts[1].of = 0; /* of the object itself: it is there already */
	assert_false(walk_program_is_valid(&program));
}

static void test_what_has_the_source_is_a_text(void **state)
{
	struct walk_program program = valid_program();

	program.object.source.of = WALK_TEXTS_MAX;
	assert_true(walk_program_is_valid(&program));
	program.object.source.of++;
	assert_false(walk_program_is_valid(&program));
}

static void test_the_owner_of_frames_is_a_root(void **state)
{
	struct walk_program program = valid_program();

	program.lists[0].owner.base = WALK_BASE_THREAD;
	assert_true(walk_program_is_valid(&program));
	program.lists[0].owner.n_loads = WALK_LOADS_MAX + 1;
	assert_false(walk_program_is_valid(&program));
}

static void test_an_array_has_no_pointers_to_elements(void **state)
{
	struct walk_program program = valid_program();

	program.lists[0].next = 65;
	assert_false(walk_program_is_valid(&program));
	program.lists[0].stride = 72;
	assert_true(walk_program_is_valid(&program));
}

static void test_heads_with_arrays_are_in_the_window(void **state)
{
	struct walk_program program = valid_program();

	program.lists[0].stride = 72;
	program.lists[0].array = 8;
	program.lists[0].array_last = 68;
	assert_true(walk_program_is_valid(&program));
	program.lists[0].array_last = 69;
	assert_false(walk_program_is_valid(&program));
	program.lists[0].array_last = 68;
	program.lists[0].array = 65;
	assert_false(walk_program_is_valid(&program));
	program.lists[0].array = 8;
	program.lists[0].next = 65;
	assert_false(walk_program_is_valid(&program));
	program.lists[0].next = 48;
	program.lists[0].stride = 0;
	assert_false(walk_program_is_valid(&program));
}

/* It is one of each element of both lists; code behind a window has no room for it. */
static void test_another_object_is_in_all_windows(void **state)
{
	struct walk_program program = valid_program();

	program.beside = (struct walk_object){ .size = 56, .pointer = 24 };
	assert_true(walk_program_is_valid(&program));
	program.lists[1] = (struct walk_list){ .window = 32, .limit = 1 };
	assert_true(walk_program_is_valid(&program));
	program.beside.pointer = 32;
	assert_false(walk_program_is_valid(&program));
	program = program_with_code();
	program.beside = (struct walk_object){ .size = 56, .pointer = 24 };
	assert_false(walk_program_is_valid(&program));
}

static void test_what_exceeds_a_limit_is_not(void **state)
{
	struct walk_program program = valid_program();

#define IS_REFUSED(change)                                                                         \
	program = valid_program();                                                                 \
	change;                                                                                    \
	assert_false(walk_program_is_valid(&program))

	IS_REFUSED(program.lists[0].window = WALK_WINDOW_MAX + 8);
	IS_REFUSED(program.lists[0].next = 65);
	IS_REFUSED(program.lists[0].limit = WALK_ELEMENTS_MAX + 1);
	IS_REFUSED(program.lists[0].limit = 0);
	IS_REFUSED(program.lists[0].roots[1].n_loads = WALK_LOADS_MAX + 1);
	IS_REFUSED(program.lists[0].kept = WALK_LISTS_MAX);
	IS_REFUSED((program.lists[0].aside_within = 1, program.lists[0].aside = 65));
	IS_REFUSED(program.lists[0].roots[0].base = WALK_BASES_MAX);
	IS_REFUSED(program.lists[1].window = 7);
	IS_REFUSED(program.object.size = WALK_OBJECT_MAX + 8);
	IS_REFUSED(program.object.size = 7);
	IS_REFUSED(program.object.pointer = 65);
	IS_REFUSED(program.object.texts[0].pointer = 193);
	IS_REFUSED(program.object.texts[2].size = WALK_TEXT_MAX + 1);
	IS_REFUSED(program.object.texts[0].of = 1);
	IS_REFUSED(program.word = ((struct walk_word){ .n_loads = WALK_WORD_LOADS_MAX + 1 }));
	IS_REFUSED(program.word = ((struct walk_word){ .n_loads = 1, .pointer = 65 }));
	IS_REFUSED(program.word = ((struct walk_word){ .n_loads = 1, .index = 69 }));
	IS_REFUSED(program.lists[0].instruction.n_loads = WALK_LOADS_MAX + 1);
	IS_REFUSED(program.lists[0].instruction.base = WALK_BASES_MAX);
	IS_REFUSED(program.object.texts[0].count = WALK_FIELDS_MAX);
	IS_REFUSED(program.object.texts[0].outside_at = WALK_FIELDS_MAX);
	IS_REFUSED(program.object.texts[0].inside_length = WALK_FIELDS_MAX);
	IS_REFUSED(program.object.texts[0].sized_by = 197);
#undef IS_REFUSED
}

static void test_frames_with_code_are_valid(void **state)
{
	struct walk_program program = program_with_code();

	assert_true(walk_program_is_valid(&program));
	program.code = (struct walk_code){ 0 };
	assert_true(walk_program_is_valid(&program));
	program = program_with_code();
	program.code.steps = 0; /* there is none, whatever the rest is */
	program.code.instruction = 65;
	assert_true(walk_program_is_valid(&program));
}

static void test_marks_and_bits_are_in_the_window(void **state)
{
	struct walk_program program;

#define IS_REFUSED(change)                                                                         \
	program = program_with_code();                                                             \
	change;                                                                                    \
	assert_false(walk_program_is_valid(&program))

	IS_REFUSED(program.lists[0].mark = 65);
	IS_REFUSED(program.lists[0].marked_next = 65);
	IS_REFUSED(program.object.kind_at = 65);
	program = program_with_code();
	program.lists[0].marks[0] = program.object.kind_mask = 0;
	program.lists[0].marked_next = program.object.kind_at = 65;
	assert_true(walk_program_is_valid(&program));
	program = valid_program();
	program.word = (struct walk_word){ .n_loads = 1 };
	program.object.kind_mask = 1;
	program.object.kind_at = 72; /* the word */
	assert_true(walk_program_is_valid(&program));
	program.object.kind_at = 73;
	assert_false(walk_program_is_valid(&program));
}

static void test_code_beyond_a_limit_is_not(void **state)
{
	struct walk_program program;

	IS_REFUSED(program.code.steps = WALK_STEPS_MAX + 1);
	IS_REFUSED(program.code.step = 0);
	IS_REFUSED(program.code.instruction = 65);
	IS_REFUSED(program.code.members_of = WALK_TEXTS_MAX + 1);
	IS_REFUSED(program.code.count_of = WALK_TEXTS_MAX + 1);
	IS_REFUSED(program.code.start = 57);
	IS_REFUSED(program.code.size = 61);
	IS_REFUSED(program.code.kind = 64);
	IS_REFUSED(program.code.object.size = 0);
	IS_REFUSED(program.code.object.size = WALK_OBJECT_MAX + 8);
	IS_REFUSED(program.code.object.texts[0].pointer = 57);
	IS_REFUSED(program.code.object.texts[0].size = WALK_TEXT_MAX + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_made_code),
		cmocka_unit_test(test_a_list_with_objects_is_valid),
		cmocka_unit_test(test_texts_of_texts_and_words_are_valid),
		cmocka_unit_test(test_texts_may_be_part_of_the_text_before),
		cmocka_unit_test(test_what_has_the_source_is_a_text),
		cmocka_unit_test(test_the_owner_of_frames_is_a_root),
		cmocka_unit_test(test_an_array_has_no_pointers_to_elements),
		cmocka_unit_test(test_heads_with_arrays_are_in_the_window),
		cmocka_unit_test(test_another_object_is_in_all_windows),
		cmocka_unit_test(test_what_exceeds_a_limit_is_not),
		cmocka_unit_test(test_frames_with_code_are_valid),
		cmocka_unit_test(test_marks_and_bits_are_in_the_window),
		cmocka_unit_test(test_code_beyond_a_limit_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
