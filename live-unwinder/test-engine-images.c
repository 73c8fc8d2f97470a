/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code without a file, missing files, user rules, and cached results. */
#include "live-unwinder/test-stacks.h"

/* A second image at its own address, with or without a file. */
enum { SECOND = 6, SECOND_START = 0x30000000 };

static void test_memory_without_a_file(void **state)
{
	const struct image *anonymous =
		add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, anonymous);
}

static void add_jit(void)
{
	add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
}

/* Two frames of it whose caller has unwind information based on the stack pointer. */
static void test_memory_without_a_file_by_the_frame_pointer(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(4), SECOND_START + 16, 0, 77, in(SP_16), 0,
	       in(BOTTOM));
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(UNPROVED, SECOND_START + 8, SECOND_START + 16, in(SP_16), in(BOTTOM));
	assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT | WIRE_frame_flags_FRAME_POINTER);
	assert_int_equal(frames[1].flags, WIRE_frame_flags_FRAME_POINTER);
	assert_int_equal(frames[2].flags, 0);
}

/* Anonymous code that leaves the frame pointer alone. */
static void test_anonymous_code_restores_the_frame_pointer(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, address_of_word(3), in(FP), 0, 0, in(BOTTOM));
	set_register(RBP, address_of_word(0));
	ASSERT_STACK(UNPROVED, SECOND_START + 8, in(FP), in(BOTTOM));
}

static void test_frame_pointers_must_lead_to_stack_and_code(void **state)
{
	const uint64_t wrong[] = { 0,
				   8,
				   address_of_word(1) + 1,
				   stack_start - 8,
				   address_of_word(3),
				   address_of_word(4),
				   UINT64_MAX - 7 };

	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(3), NOWHERE, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_register(RBP, wrong[i]);
		ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
		assert_int_equal(frames[0].flags, WIRE_frame_flags_EXACT);
	}
	set_register(RBP, address_of_word(1)); /* not a return address */
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
}

static void test_decreasing_frame_pointers_are_refused(void **state)
{
	add_jit();
	SAMPLE(SECOND_START + 8, 0, address_of_word(1), SECOND_START + 16, 0);
	set_register(RBP, address_of_word(1));
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8, SECOND_START + 16);
}

/* Adds a user rule for a function. */
static void give(enum function function, const char *rule)
{
	const uint64_t start = MADE_VADDR + made_offset(function);
	struct user_rules_error error;
	char id[FILE_ID_TEXT_SIZE];
	struct image *whose = image_table_find(&world.identity.images, IMAGE);
	char *text;
	int n;

	assert_non_null(elf_cache_get(&world.files, whose));
	file_id_text(&whose->file_id, id);
	n = asprintf(&text, "file-id:%s 0x%" PRIx64 "-0x%" PRIx64 " %s", id, start,
		     start + MADE_FUNCTION, rule);
	assert_true(n > 0);
	assert_int_equal(user_rules_parse(&unwind_x86_64, text, n, &user_rules, &error), 0);
	world.tables.user_rules = &user_rules;
}

static void test_a_user_rule_fills_a_gap(void **state)
{
	give(GAP, "fp");
	set_register(RBP, address_of_word(1));
	SAMPLE(in(GAP), 0, address_of_word(6), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(GAP), in(SP_16), in(BOTTOM));
	assert_int_equal(answer.n_verifiable, 1);
	assert_true(answer.contradicts_cfi);
}

static void test_user_rules_come_before_the_file(void **state)
{
	give(SP_16, "cfa=rsp+24 ra=cfa-8");
	SAMPLE(in(PLAIN), in(SP_16), in(PLAIN), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	assert_int_equal(answer.n_verifiable, 2);
}

static void test_a_user_rule_may_end_a_stack(void **state)
{
	give(PLAIN, "end");
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN));
}

static void test_elfutils_answers_end_after_a_user_rule(void **state)
{
	give(PLAIN, "cfa=rsp+8 ra=cfa-8");
	SAMPLE(in(PLAIN), in(FALLBACK), in(BOTTOM));
	ASSERT_STACK(BAD_UNWIND_INFO, in(PLAIN), in(FALLBACK));
}

static void test_elfutils_stops_at_a_user_rule(void **state)
{
	give(SP_16, "cfa=rsp+24 ra=cfa-8");
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	answer.sample = &sample;
	answer.process = process;
	engine_dwfl_unwind(dwfl, &answer);
	assert_int_equal(answer.n_frames, 3);
	engine_table_cut(table, &answer);
	assert_int_equal(answer.n_frames, 2);
	assert_int_equal(answer.end, WIRE_stack_end_BAD_UNWIND_INFO);
	assert_ptr_equal(answer.failed_image, made_image());
}

static void test_elfutils_is_not_cut_elsewhere(void **state)
{
	give(AT_FP, "fp");
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	answer.sample = &sample;
	answer.process = process;
	engine_dwfl_unwind(dwfl, &answer);
	engine_table_cut(table, &answer);
	assert_int_equal(answer.n_frames, 3);
	assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
}

static void test_a_missing_file_has_no_rules(void **state)
{
	const struct image *gone =
		add_image(&world, SECOND, WIRE_image_kind_FILE, "/no-such-directory/no-such-file");

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(IMAGE_UNAVAILABLE, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, gone);
}

static void test_a_non_elf_image_has_no_rules(void **state)
{
	const struct image *other = add_bytes(&world, SECOND, "#!/bin/sh\n", 10);

	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, in(PLAIN), SECOND_START + 8);
	assert_ptr_equal(answer.failed_image, other);
}

static void test_an_unreported_image_has_no_rules(void **state)
{
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_MAPPING, in(PLAIN), SECOND_START + 8);
	assert_null(answer.failed_image);
}

static void test_a_sample_in_anonymous_memory_is_one_frame(void **state)
{
	add_image(&world, SECOND, WIRE_image_kind_ANONYMOUS, "//anon");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(SECOND_START + 8, in(BOTTOM));
	ASSERT_STACK(NO_UNWIND_INFO, SECOND_START + 8);
}

/* The image server's report is still missing, so the failure must not be cached. */
static void test_an_undecided_image_is_retried(void **state)
{
	struct wire_image_state gone = { SECOND, WIRE_image_status_GONE, 0, 0 };

	tear_down(NULL);
	begin(&(struct wire_hello){ .image_server = "stackpipe-no-such-server" });
	add_image(&world, SECOND, WIRE_image_kind_FILE, "/no-such-directory/no-such-file");
	add_mapping(&world, process, SECOND, SECOND_START, 0x1000, 0);
	SAMPLE(in(PLAIN), SECOND_START + 8);
	assert_int_equal(unwind(), ENGINE_TABLE_E_PENDING);
	SAMPLE(SECOND_START + 8, in(PLAIN));
	assert_int_equal(unwind(), ENGINE_TABLE_E_PENDING);
	SAMPLE(in(PLAIN), SECOND_START + 8);
	image_table_set_state(&world.identity.images, &gone);
	ASSERT_STACK(IMAGE_UNAVAILABLE, in(PLAIN), SECOND_START + 8);
}

static uint64_t second_in(enum function function)
{
	return SECOND_START + made_offset(function) + 5;
}

static void test_several_images_in_one_stack(void **state)
{
	uint32_t number;

	add_bytes(&world, SECOND, image.bytes, image.n);
	number = add_mapping(&world, process, SECOND, SECOND_START, 0x3000, 0);
	SAMPLE(in(PLAIN), second_in(SP_16), 0, in(SP_16), 0, second_in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), second_in(SP_16), in(SP_16), second_in(BOTTOM));
	assert_int_equal(frames[1].mapping, number);
	assert_int_equal(frames[2].mapping, number - 1);
}

/* A mapping from the middle of the file: lookups use file offsets. */
static void test_several_mappings_of_one_image(void **state)
{
	const uint64_t cut = made_offset(SP_16);
	uint32_t number = add_mapping(&world, process, IMAGE, BASE + cut, 0x1000, cut);

	SAMPLE(in(PLAIN), in(SP_16), 0, in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(PLAIN), in(BOTTOM));
	assert_int_equal(frames[1].mapping, number);
	assert_int_equal(frames[2].mapping, number - 1);
}

/* All rules are cached from the first process. */
static void test_another_process_shares_rules_but_no_addresses(void **state)
{
	const uint64_t distance = OTHER_BASE - BASE;
	struct process *other = add_process(&world, 2);

	add_mapping(&world, other, IMAGE, OTHER_BASE, 0x3000, 0);
	SAMPLE(in(PLAIN), in(SP_16), 0, in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), in(BOTTOM));
	SAMPLE(in(PLAIN) + distance, in(SP_16) + distance, 0, in(BOTTOM) + distance);
	assert_int_equal(unwind_in(other), ENGINE_TABLE_OK);
	assert_int_equal(answer.n_frames, 3);
	assert_int_equal(answer.end, WIRE_stack_end_COMPLETE);
	assert_int_equal(unwind_in(process), ENGINE_TABLE_OK);
	assert_int_equal(answer.end, WIRE_stack_end_NO_MAPPING);
}

enum { MANY = 1000 }; /* more locations than the rule cache holds */

/* Adds an image of many functions without callers. */
static void add_bottoms(uint64_t number)
{
	struct made_function bottoms[MANY];
	struct made elf;

	for (size_t i = 0; i < MANY; i++)
		bottoms[i] = functions[BOTTOM];
	elf = made_elf(arch_host(), bottoms, MANY, 0);
	add_bytes(&world, number, elf.bytes, elf.n);
	add_mapping(&world, process, number, SECOND_START, elf.n, 0);
	made_deinit(&elf);
}

static void test_images_that_share_a_slot_are_reported_apart(void **state)
{
	add_bottoms(IMAGE + 4096);
	for (size_t i = 0; i < 3; i++) {
		SAMPLE(in(PLAIN), in(SP_16), 0, second_in(SP_16));
		ASSERT_STACK(COMPLETE, in(PLAIN), in(SP_16), second_in(SP_16));
	}
}

static void test_places_that_share_a_slot_are_reported_apart(void **state)
{
	add_bottoms(SECOND);
	for (size_t i = 0; i < MANY * MADE_FUNCTION; i++) {
		SAMPLE(SECOND_START + made_offset(0) + i, in(PLAIN));
		answer.sample = &sample;
		answer.process = process;
		assert_int_equal(engine_table_unwind(table, &answer), ENGINE_TABLE_OK);
		assert_int_equal(answer.n_frames, 1);
	}
	SAMPLE(in(PLAIN), in(BOTTOM));
	ASSERT_STACK(COMPLETE, in(PLAIN), in(BOTTOM));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_memory_without_a_file),
		TEST(test_memory_without_a_file_by_the_frame_pointer),
		TEST(test_anonymous_code_restores_the_frame_pointer),
		TEST(test_frame_pointers_must_lead_to_stack_and_code),
		TEST(test_decreasing_frame_pointers_are_refused),
		TEST(test_a_user_rule_fills_a_gap),
		TEST(test_user_rules_come_before_the_file),
		TEST(test_a_user_rule_may_end_a_stack),
		TEST(test_elfutils_answers_end_after_a_user_rule),
		TEST(test_elfutils_stops_at_a_user_rule),
		TEST(test_elfutils_is_not_cut_elsewhere),
		TEST(test_a_missing_file_has_no_rules),
		TEST(test_a_non_elf_image_has_no_rules),
		TEST(test_an_unreported_image_has_no_rules),
		TEST(test_a_sample_in_anonymous_memory_is_one_frame),
		TEST(test_an_undecided_image_is_retried),
		TEST(test_several_images_in_one_stack),
		TEST(test_several_mappings_of_one_image),
		TEST(test_another_process_shares_rules_but_no_addresses),
		TEST(test_images_that_share_a_slot_are_reported_apart),
		TEST(test_places_that_share_a_slot_are_reported_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
