/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps by every kind of rule, and end reasons. */
#include "live-unwinder/test-stacks.h"

static void test_a_step_by_the_stack_pointer(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	assert_null(answer.failed_image);
}

static void test_only_the_sampled_frame_is_exact(void **state)
{
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(BOTTOM));
	assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT);
	assert_int_equal(frames[1].flags, 0);
}

static void test_a_step_by_the_frame_pointer(void **state)
{
	SAMPLE(in(FP), 0, address_of_word(4), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(COMPLETE, in(FP), in(FP), in(BOTTOM));
}

static void test_a_step_by_a_register_of_the_sampled_frame(void **state)
{
	SAMPLE(in(BY_R10), 0, 0, in(BOTTOM));
	set_register(R10, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(BY_R10), in(BOTTOM));
}

static void test_a_register_of_another_frame_is_not_known(void **state)
{
	SAMPLE(in(PLAIN), in(BY_R10), 0, in(BOTTOM));
	set_register(R10, address_of_word(2));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_a_step_by_a_cfa_saved_at_the_sp(void **state)
{
	SAMPLE(in(AT_SP), 0, address_of_word(2), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(AT_SP), in(BOTTOM));
}

static void test_a_step_by_a_cfa_saved_at_the_fp(void **state)
{
	SAMPLE(in(AT_FP), 0, address_of_word(4), 0, in(BOTTOM));
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(AT_FP), in(BOTTOM));
}

static void test_an_uncaptured_saved_cfa_is_truncated(void **state)
{
	SAMPLE(in(AT_SP), 0);
	ASSERT_STACK(TRUNCATED, in(AT_SP));
	SAMPLE(in(AT_FP), 0);
	set_register(RBP, stack_start);
	ASSERT_STACK(TRUNCATED, in(AT_FP));
}

static void test_a_stack_may_be_truncated_after_a_saved_cfa(void **state)
{
	SAMPLE(in(AT_SP), 0, address_of_word(4));
	ASSERT_STACK(TRUNCATED, in(AT_SP));
}

static void test_a_saved_cfa_near_a_file_is_for_elfutils(void **state)
{
	SAMPLE(in(AT_FP), 0);
	set_register(RBP, BASE + 0x2000);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_realigned_frame(void **state)
{
	SAMPLE(in(REALIGNED), 0, address_of_word(5), address_of_word(6), 0, in(FP), 0, 0,
	       in(BOTTOM));
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(REALIGNED), in(FP), in(BOTTOM));
	assert_int_equal(answer.n_verifiable, 0);
}

static void test_a_realigned_frame_before_it_is_left(void **state)
{
	SAMPLE(in(LEAVING), 0, address_of_word(5), 0, in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(1));
	set_register(R10, address_of_word(4));
	ASSERT_STACK(COMPLETE, in(LEAVING), in(FP), in(BOTTOM));
	assert_int_equal(answer.n_verifiable, 0);
}

/* Unless the code was seen to pop it: elfutils uses the word there instead. */
static void test_an_unplaced_realigned_frame_has_no_fp(void **state)
{
	SAMPLE(in(LEAVING), 0, in(FP), 0, address_of_word(6), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(3));
	set_register(R10, address_of_word(2));
	ASSERT_STACK(BAD_UNWIND_INFO, in(LEAVING), in(FP));
	assert_int_equal(answer.n_verifiable, 1);
	assert_true(answer.contradicts_cfi);
}

static void test_a_stub_has_pushed_nothing_before_its_limit(void **state)
{
	SAMPLE(start_of(PLT) + 0x19, in(BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, start_of(PLT) + 0x19, in(BOTTOM));
}

static void test_a_stub_has_pushed_a_word_from_its_limit_on(void **state)
{
	SAMPLE(start_of(PLT) + 0x1a, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, start_of(PLT) + 0x1a, in(BOTTOM));
}

/* A PLT rule compares the return address itself, not minus one, even if no call precedes it. */
static void test_a_plt_stub_is_checked_by_its_return_address(void **state)
{
	SAMPLE(in(PLAIN), start_of(PLT) + MADE_BEHIND_LATE, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(PLT) + MADE_BEHIND_LATE, in(BOTTOM));
}

static void test_a_return_address_must_follow_a_call(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0, start_of(SP_16) + MADE_BEHIND_NONE, 0, in(BOTTOM));
	ASSERT_STACK(BAD_UNWIND_INFO, in(PLAIN), in(SP_16));
}

static void test_a_return_to_a_functions_start_has_no_caller(void **state)
{
	SAMPLE(in(PLAIN), start_of(PLAIN), in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), start_of(PLAIN));
	assert_int_equal(frames[1].flags, WIRE_frame_flags_EXACT);
	SAMPLE(in(PLAIN), start_of(BOTTOM), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(BOTTOM));
	assert_int_equal(frames[1].flags, WIRE_frame_flags_EXACT);
}

static void test_an_interrupted_frame_is_exact(void **state)
{
	SAMPLE(in(PLAIN), in(SIGNAL), address_of_word(5), in(FP), address_of_word(6), 0, 0, 0,
	       in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SIGNAL), in(FP), in(BOTTOM));
	assert_int_equal(frames[2].flags, WIRE_frame_flags_EXACT);
	assert_int_equal(frames[3].flags, 0);
}

/* At the address minus one lies the previous function, which has a caller. */
static void test_an_interrupted_pc_is_looked_up_exactly(void **state)
{
	SAMPLE(in(PLAIN), in(SIGNAL), address_of_word(4), start_of(BOTTOM), 0);
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SIGNAL), start_of(BOTTOM));
}

/* The kernel's signal frame includes r10. */
static void test_an_interrupted_frame_has_all_registers(void **state)
{
	enum { R10_AT = 56 / 8, RBP_AT = 120 / 8, RSP_AT = 160 / 8, RIP_AT = 168 / 8, MAIN = 24 };

	SAMPLE(in(KERNEL_SIGNAL), 0);
	sample.stack.size = WORDS * sizeof(*stack);
	memset(stack, 0, sizeof(stack));
	stack[R10_AT] = address_of_word(MAIN + 3);
	stack[RBP_AT] = NOWHERE;
	stack[RSP_AT] = address_of_word(MAIN);
	stack[RIP_AT] = in(BY_R10);
	stack[MAIN + 3] = in(BOTTOM);
	ASSERT_STACK(COMPLETE, in(KERNEL_SIGNAL), in(BY_R10), in(BOTTOM));
}

static void test_samples_older_than_the_file_are_not_unwound(void **state)
{
	struct image *written = image_table_find(&world.identity.images, IMAGE);
	struct stored_table *entry;
	struct unwinding reference;

	world.files.unix_time_ahead = 1;
	elf_cache_get(&world.files, written)->modified = 1001;
	entry = (struct stored_table *)table_store_get(&world.tables, IMAGE);
	assert_int_equal(entry->not_before, 1000 + ELF_CACHE_TICK_NS);
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	sample.time = entry->not_before;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	sample.time--;
	assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 1);
	assert_int_equal(answer.frames[0].mapping, 0);
	assert_int_equal(answer.end, WIRE_stack_end_IMAGE_UNAVAILABLE);
	assert_ptr_equal(answer.failed_image, made_image());
	reference = answer;
	reference.frames = compare_frames;
	engine_dwfl_unwind(dwfl, &reference);
	assert_int_equal(reference.n_frames, 3);
	engine_table_cut(table, &reference);
	assert_true(unwinding_is_same(&answer, &reference));
	entry->not_before = sample.time + TABLE_STORE_WRITTEN_WITHIN_NS + 1; /* in the future */
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
}

/* Samples without a time, or with UINT64_MAX, must not count as older. */
static void test_an_unwritten_file_serves_samples_of_any_time(void **state)
{
	static const uint64_t times[] = { 0, 1, TABLE_STORE_WRITTEN_WITHIN_NS, UINT64_MAX - 1,
					  UINT64_MAX };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
		sample.time = times[i];
		assert_int_equal(table_store_get(&world.tables, IMAGE)->not_before, 0);
		ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	}
}

/* The last instruction is a call that never returns; another function follows it. */
static void test_a_return_address_is_looked_up_at_its_call(void **state)
{
	SAMPLE(in(PLAIN), start_of(AFTER_BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, in(PLAIN), start_of(AFTER_BOTTOM));
}

static void test_the_sampled_pc_is_looked_up_exactly(void **state)
{
	SAMPLE(start_of(BOTTOM), in(PLAIN));
	ASSERT_STACK(COMPLETE, start_of(BOTTOM));
}

static void test_a_return_address_in_a_register(void **state)
{
	SAMPLE(in(RA_RBX), in(PLAIN));
	set_register(RBX, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(RA_RBX), in(BOTTOM));
}

static void test_registers_are_unknown_in_outer_frames(void **state)
{
	SAMPLE(in(PLAIN), in(RA_RBX));
	set_register(RBX, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_undefined_return_address_needs_no_stack(void **state)
{
	sample_at(in(BOTTOM), NULL, 0);
	ASSERT_STACK(COMPLETE, in(BOTTOM));
}

static void test_a_frame_pointer_in_a_register(void **state)
{
	SAMPLE(in(FP_RBX), in(FP), 0, 0, in(BOTTOM));
	set_register(RBX, address_of_word(2));
	ASSERT_STACK(COMPLETE, in(FP_RBX), in(FP), in(BOTTOM));
}

static void test_an_fp_in_a_register_is_lost_in_outer_frames(void **state)
{
	SAMPLE(in(PLAIN), in(FP_RBX), in(FP));
	assert_int_equal(unwind(), ENGINE_TABLE_E_REGISTER);
}

static void test_a_frame_pointer_below_the_capture_is_no_error(void **state)
{
	SAMPLE(in(LATE), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(LATE), in(SP_16), in(BOTTOM));
}

static void test_a_needed_fp_below_the_capture_cuts(void **state)
{
	SAMPLE(in(LATE), in(FP), 0, in(BOTTOM), 0);
	set_register(RBP, address_of_word(1)); /* its own, not the caller's */
	ASSERT_STACK(TRUNCATED, in(LATE), in(FP));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_a_needed_undefined_fp_cuts(void **state)
{
	SAMPLE(in(NO_FP), in(FP), 0, in(BOTTOM), 0);
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(TRUNCATED, in(NO_FP), in(FP));
}

static void test_a_cfa_saved_at_an_unknown_fp_cuts(void **state)
{
	SAMPLE(in(NO_FP), in(AT_FP), address_of_word(3), in(BOTTOM)); /* rbp is not at a record */
	set_register(RBP, address_of_word(2));
	ASSERT_STACK(TRUNCATED, in(NO_FP), in(AT_FP));
}

static void test_a_truncated_stack_ends_truncated(void **state)
{
	SAMPLE(in(PLAIN), in(SP_16), 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(SP_16));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_a_stack_truncated_within_a_word(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(BOTTOM));
	sample.stack.size -= 1;
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(PLAIN));
}

/* Each word counts once, in the order in which the kernel has read them. */
static void test_words_count_in_their_order(void **state)
{
	const struct wire_stack_word words[] = {
		{ address_of_word(3), 1 },	   { address_of_word(0), in(FP) },
		{ address_of_word(9), in(PLAIN) }, { address_of_word(8), 0 },
		{ address_of_word(9), in(PLAIN) }, { address_of_word(10), in(BOTTOM) },
	};
	static const size_t n_known[] = { 1, 2, 3, 3, 3, 4 };

	sample_at(in(PLAIN), NULL, 0);
	set_register(RBP, address_of_word(8));
	answer.sample = &sample;
	answer.process = process;
	for (size_t n = 1; n <= sizeof(words) / sizeof(*words); n++) {
		answer.words = (struct wire_words){ words, n };
		assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
		assert_int_equal(answer.n_frames, n_known[n - 1]);
		assert_int_equal(answer.end, n_known[n - 1] == 4
						     ? WIRE_stack_end_COMPLETE
						     : WIRE_stack_end_IMAGE_UNAVAILABLE);
	}
}

static void test_an_empty_stack_ends_truncated(void **state)
{
	sample_at(in(PLAIN), NULL, 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN));
}

static void test_a_missing_stack_page_truncates(void **state)
{
	uint64_t words[WORDS] = { [WORDS - 1] = in(SP_16) };

	sample_at(in(FP), words, WORDS);
	set_register(RBP, address_of_word(WORDS - 2));
	ASSERT_STACK(TRUNCATED, in(FP), in(SP_16));
	answer.stack_asked = sizeof(words); /* as much as was captured */
	ASSERT_STACK(TRUNCATED, in(FP), in(SP_16));
	answer.stack_asked = 2 * sizeof(words);
	ASSERT_STACK(STACK_ABSENT, in(FP), in(SP_16));
}

static void test_a_missing_first_word_truncates(void **state)
{
	answer.stack_asked = 4096;
	sample_at(in(PLAIN), NULL, 0);
	ASSERT_STACK(STACK_ABSENT, in(PLAIN));
}

static void test_a_stack_ending_within_a_page_is_truncated(void **state)
{
	answer.stack_asked = 4096;
	SAMPLE(in(PLAIN), in(SP_16), 0);
	ASSERT_STACK(TRUNCATED, in(PLAIN), in(SP_16));
}

static void test_a_signal_may_interrupt_another_stack(void **state)
{
	uint64_t words[WORDS] = { [WORDS - 3] = address_of_word(WORDS), in(PLAIN), 0 };

	sample_at(in(FP), words, WORDS);
	stack[WORDS - 4] = in(SIGNAL);
	set_register(RBP, address_of_word(WORDS - 5));
	answer.stack_asked = 2 * sizeof(words);
	ASSERT_STACK(TRUNCATED, in(FP), in(SIGNAL), in(PLAIN));
}

/* The handler runs on its own stack, and the interrupted one was not captured. */
static void test_a_handler_may_have_its_own_stack(void **state)
{
	const uint64_t interrupted = stack_start + (1ULL << 40);

	add_image(&world, IMAGE + 1, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, IMAGE + 1, 0xffffffffff600000, 0x1000, 0);
	SAMPLE(in(SIGNAL), interrupted, in(PLAIN), 0);
	ASSERT_STACK(TRUNCATED, in(SIGNAL), in(PLAIN));
}

/* elfutils might read the words there from the file. */
static void test_a_stack_near_a_file_is_for_elfutils(void **state)
{
	const uint64_t file = stack_start + (1ULL << 40);

	add_image(&world, IMAGE + 1, WIRE_image_kind_FILE, "/nowhere/file");
	add_mapping(&world, process, IMAGE + 1, file, 0x1000, 0);
	SAMPLE(in(SIGNAL), file - 0x2000, in(PLAIN), 0);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
	SAMPLE(in(SIGNAL), file + 0x2000, in(PLAIN), 0);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_kernel_return_address_is_left_to_elfutils(void **state)
{
	SAMPLE(in(FP), in(BOTTOM));
	set_register(RBP, UINT64_MAX - 64);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_kernel_sp_is_left_to_elfutils(void **state)
{
	sample_at(in(PLAIN), NULL, 0);
	set_register(RSP, UINT64_MAX - 63);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

/* elfutils would continue in that file, for which there is no table. */
static void test_a_return_address_in_a_file_is_for_elfutils(void **state)
{
	SAMPLE(in(FP), in(BOTTOM));
	set_register(RBP, BASE + made_offset(N_FUNCTIONS) + 8);
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_no_mapping_at_the_first_frame(void **state)
{
	SAMPLE(NOWHERE, in(BOTTOM));
	ASSERT_STACK(NO_MAPPING, NOWHERE);
	assert_int_equal(frames[0].mapping, 0);
	assert_null(answer.failed_image);
}

/* The unmapped address is not a frame. */
static void test_no_mapping_at_a_later_frame(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), NOWHERE, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 2);
	assert_int_equal(answer.end, WIRE_stack_end_NO_MAPPING);
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_the_limit_of_frames(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.n_frames_max = 3;
	ASSERT_STACK(FRAME_LIMIT, in(PLAIN), in(PLAIN), in(PLAIN));
	assert_null(answer.failed_image);
}

static void test_a_stack_with_the_maximum_of_frames(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	answer.n_frames_max = 4;
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
}

static void test_no_progress_is_left_to_elfutils(void **state)
{
	SAMPLE(in(LOOP), in(LOOP));
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

/* The same pc repeats while the stack pointer advances. */
static void test_recursion_is_progress(void **state)
{
	SAMPLE(in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(PLAIN), in(PLAIN), in(BOTTOM));
}

static void test_a_zero_return_address_is_left_to_elfutils(void **state)
{
	SAMPLE(in(PLAIN), 0, in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_BAD);
}

static void test_a_fallback_rule_is_left_to_elfutils(void **state)
{
	SAMPLE(in(PLAIN), in(FALLBACK), in(BOTTOM));
	assert_int_equal(unwind(), ENGINE_TABLE_E_RULE);
}

static void test_no_information(void **state)
{
	SAMPLE(in(PLAIN), in(GAP), in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), in(GAP));
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_a_stack_is_complete_at_the_entry_point(void **state)
{
	SAMPLE(in(PLAIN), in(GAP), 1, address_of_word(4), 0, 0);
	assert_int_equal(address_of_word(1) % 16, 8); /* not aligned, so not an initial stack */
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), in(GAP));
	SAMPLE(in(SP_16), 0, in(GAP), 1, address_of_word(6), 0, 0);
	ASSERT_STACK(COMPLETE, in(SP_16), in(GAP));
	assert_null(answer.failed_image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_step_by_the_stack_pointer),
		TEST(test_only_the_sampled_frame_is_exact),
		TEST(test_a_step_by_the_frame_pointer),
		TEST(test_a_step_by_a_register_of_the_sampled_frame),
		TEST(test_a_register_of_another_frame_is_not_known),
		TEST(test_a_step_by_a_cfa_saved_at_the_sp),
		TEST(test_a_step_by_a_cfa_saved_at_the_fp),
		TEST(test_an_uncaptured_saved_cfa_is_truncated),
		TEST(test_a_stack_may_be_truncated_after_a_saved_cfa),
		TEST(test_a_saved_cfa_near_a_file_is_for_elfutils),
		TEST(test_a_realigned_frame),
		TEST(test_a_realigned_frame_before_it_is_left),
		TEST(test_an_unplaced_realigned_frame_has_no_fp),
		TEST(test_a_stub_has_pushed_nothing_before_its_limit),
		TEST(test_a_stub_has_pushed_a_word_from_its_limit_on),
		TEST(test_a_plt_stub_is_checked_by_its_return_address),
		TEST(test_a_return_address_must_follow_a_call),
		TEST(test_a_return_to_a_functions_start_has_no_caller),
		TEST(test_an_interrupted_frame_is_exact),
		TEST(test_an_interrupted_pc_is_looked_up_exactly),
		TEST(test_an_interrupted_frame_has_all_registers),
		TEST(test_samples_older_than_the_file_are_not_unwound),
		TEST(test_an_unwritten_file_serves_samples_of_any_time),
		TEST(test_a_return_address_is_looked_up_at_its_call),
		TEST(test_the_sampled_pc_is_looked_up_exactly),
		TEST(test_a_return_address_in_a_register),
		TEST(test_registers_are_unknown_in_outer_frames),
		TEST(test_undefined_return_address_needs_no_stack),
		TEST(test_a_frame_pointer_in_a_register),
		TEST(test_an_fp_in_a_register_is_lost_in_outer_frames),
		TEST(test_a_frame_pointer_below_the_capture_is_no_error),
		TEST(test_a_needed_fp_below_the_capture_cuts),
		TEST(test_a_needed_undefined_fp_cuts),
		TEST(test_a_cfa_saved_at_an_unknown_fp_cuts),
		TEST(test_a_truncated_stack_ends_truncated),
		TEST(test_a_stack_truncated_within_a_word),
		TEST(test_words_count_in_their_order),
		TEST(test_an_empty_stack_ends_truncated),
		TEST(test_a_missing_stack_page_truncates),
		TEST(test_a_missing_first_word_truncates),
		TEST(test_a_stack_ending_within_a_page_is_truncated),
		TEST(test_a_signal_may_interrupt_another_stack),
		TEST(test_a_handler_may_have_its_own_stack),
		TEST(test_a_stack_near_a_file_is_for_elfutils),
		TEST(test_a_kernel_return_address_is_left_to_elfutils),
		TEST(test_a_kernel_sp_is_left_to_elfutils),
		TEST(test_a_return_address_in_a_file_is_for_elfutils),
		TEST(test_no_mapping_at_the_first_frame),
		TEST(test_no_mapping_at_a_later_frame),
		TEST(test_the_limit_of_frames),
		TEST(test_a_stack_with_the_maximum_of_frames),
		TEST(test_no_progress_is_left_to_elfutils),
		TEST(test_recursion_is_progress),
		TEST(test_a_zero_return_address_is_left_to_elfutils),
		TEST(test_a_fallback_rule_is_left_to_elfutils),
		TEST(test_no_information),
		TEST(test_a_stack_is_complete_at_the_entry_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
