/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks of a thread one after the other: what the last one had counts only where it still holds.
 */
#include "live-unwinder/table-walk.h"
#include "live-unwinder/test-stacks.h"

static void set_fp(uint64_t value)
{
	set_register(RBP, value);
}

static void test_outer_frames_that_stay(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(PLAIN), in(BOTTOM));
	SAMPLE(in(SP_16), 7, in(SP_16), 8, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(SP_16), in(SP_16), in(BOTTOM));
	SAMPLE(in(PLAIN), in(PLAIN), in(SP_16), 9, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(SP_16), in(BOTTOM));
}

static void test_an_outer_frame_that_returns_elsewhere(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	for (size_t i = 1; i < 4; i++) {
		SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
		stack[i] = in(BOTTOM);
		assert_int_equal(unwind(), ENGINE_TABLE_OK);
		assert_int_equal(answer.n_frames, i + 2);
		assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
	}
}

static void test_a_frame_pointer_that_was_saved_elsewhere(void **state)
{
	SAMPLE(in(FP), address_of_word(2), in(FP), address_of_word(5), in(BOTTOM), 0, 0,
	       address_of_word(9), in(BOTTOM));
	set_fp(stack_start);
	ASSERT_STACK(COMPLETE, in(FP), in(FP), in(BOTTOM));
	assert_int_equal(answer.last_fp, address_of_word(5));
	/* The same return addresses, but the outer frame is where its frame pointer says. */
	stack[0] = address_of_word(6);
	ASSERT_STACK(COMPLETE, in(FP), in(FP), in(BOTTOM));
	assert_int_equal(answer.last_fp, address_of_word(9));
	/* And the frame pointer that is left at the end. */
	stack[6] = address_of_word(12);
	ASSERT_STACK(COMPLETE, in(FP), in(FP), in(BOTTOM));
	assert_int_equal(answer.last_fp, address_of_word(12));
}

static void test_a_frame_that_is_sampled_is_no_caller(void **state)
{
	SAMPLE(in(PLAIN), start_of(AFTER_BOTTOM), in(BOTTOM));
	set_register(RSP, address_of_word(-1));
	answer.sample = &sample;
	answer.process = process;
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 2);
	/* There, with the same stack pointer: it runs, and has a caller. */
	SAMPLE(start_of(AFTER_BOTTOM), in(BOTTOM));
	ASSERT_STACK(COMPLETE, start_of(AFTER_BOTTOM), in(BOTTOM));
}

/* Words that the kernel has kept are passed once, so what was only compared has not been passed. */
static void test_words_that_lead_elsewhere(void **state)
{
	struct wire_stack_word words[] = {
		{ address_of_word(0), in(PLAIN) },
		{ address_of_word(1), in(PLAIN) },
		{ address_of_word(2), in(PLAIN) },
		{ address_of_word(3), in(BOTTOM) },
	};

	sample_at(in(PLAIN), NULL, 0);
	answer.sample = &sample;
	answer.process = process;
	answer.words = (struct wire_words){ words, 4 };
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 5);
	words[2].value = in(BOTTOM);
	answer.words.n = 3;
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 4);
	assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
}

static void test_words_that_are_not_captured(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	sample.stack.size = 2 * sizeof(stack[0]);
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(PLAIN), in(PLAIN));
}

static void test_the_limit_of_frames(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.n_frames_max = 3;
	ASSERT_STACK(FRAME_LIMIT, in(PLAIN), in(PLAIN), in(PLAIN));
}

static void test_a_mapping_that_has_changed(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	add_mapping(&world, process, 0, BASE, 0x3000, 0);
	ASSERT_STACK(NO_MAPPING, in(PLAIN));
	add_mapping(&world, process, IMAGE, BASE, 0x3000, 0);
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
}

static void test_threads_have_their_own_walks(void **state)
{
	for (uint32_t tid = 1; tid < 200; tid += 33) {
		SAMPLE(in(PLAIN), in(PLAIN), tid % 2 ? in(BOTTOM) : in(PLAIN), in(BOTTOM));
		sample.tid = tid;
		assert_int_equal(unwind(), ENGINE_TABLE_OK);
		assert_int_equal(answer.n_frames, tid % 2 ? 3 : 4);
	}
}

/* Without what the process itself tells, which is of one sample. */
static void test_code_that_is_told_of_is_walked_anew(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.calls.are_told = true;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	for (size_t i = 0; i < LAST_WALKS_THREADS; i++)
		assert_int_equal(table->last[i].basis.version, 0);
	answer.calls.are_told = false;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	assert_int_equal(table->last[0].basis.version, process_version(process));
}

static void test_stacks_that_are_not_whole_are_not_kept(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN));
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(PLAIN), in(PLAIN));
	SAMPLE(in(PLAIN), in(GAP));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), in(GAP));
	assert_int_equal(table->last[0].basis.version, 0);
}

/* More than are kept: the outer ones are. */
static void test_a_deep_stack(void **state)
{
	static struct wire_frame many[WORDS + 1], again[WORDS + 1];

	SAMPLE(in(PLAIN));
	for (size_t i = 0; i < WORDS; i++)
		stack[i] = i == WORDS - 1 ? in(BOTTOM) : in(PLAIN);
	sample.stack.size = sizeof(stack);
	for (size_t round = 0; round < 3; round++) {
		struct unwinding alone;

		answer.sample = &sample;
		answer.process = process;
		answer.frames = many;
		answer.n_frames_max = WORDS + 1;
		alone = answer;
		alone.frames = again;
		alone.is_alone = true;
		assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
		assert_int_equal(engine_table_unwind(table, &alone), ENGINE_TABLE_OK);
		assert_true(unwinding_is_same(&answer, &alone));
		assert_int_equal(answer.n_frames, (round < 2 ? WORDS : WORDS / 2) + 1);
		if (round == 1)
			stack[WORDS / 2 - 1] = in(BOTTOM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_outer_frames_that_stay),
		TEST(test_an_outer_frame_that_returns_elsewhere),
		TEST(test_a_frame_pointer_that_was_saved_elsewhere),
		TEST(test_a_frame_that_is_sampled_is_no_caller),
		TEST(test_words_that_lead_elsewhere),
		TEST(test_words_that_are_not_captured),
		TEST(test_the_limit_of_frames),
		TEST(test_a_mapping_that_has_changed),
		TEST(test_threads_have_their_own_walks),
		TEST(test_code_that_is_told_of_is_walked_anew),
		TEST(test_stacks_that_are_not_whole_are_not_kept),
		TEST(test_a_deep_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
