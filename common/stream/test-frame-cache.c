/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/frame-cache.h"

static struct process_table processes;
static struct frame_cache cache;
static struct process *one, *other;

static struct process *add(uint64_t number)
{
	const struct wire_process record = { .process = number, .name = wire_string("name", 64) };

	assert_int_equal(process_table_add(&processes, &record), 0);
	return process_table_find(&processes, number);
}

static void map(uint64_t process)
{
	const struct wire_mapping record = { .process = process, .start = 0x1000, .length = 16 };

	assert_int_equal(process_table_map(&processes, &record), 0);
}

static int set_up(void **state)
{
	processes = (struct process_table){ 0 };
	assert_int_equal(frame_cache_init(&cache), 0);
	one = add(1);
	other = add(2);
	return 0;
}

static int tear_down(void **state)
{
	process_table_deinit(&processes);
	frame_cache_deinit(&cache);
	return 0;
}

static bool is_new(const struct process *process, uint64_t address, uint32_t flags,
		   struct frame_cache_entry **ret)
{
	const struct wire_frame frame = { .address = address, .flags = flags };
	bool result;

	*ret = frame_cache_find(&cache, &processes, process, &frame, &result);
	return result;
}

static void test_a_frame_is_found_again(void **state)
{
	struct frame_cache_entry *entry;

	assert_true(is_new(one, 0x1234, 0, &entry));
	entry->number = 5;
	entry->value = 6;
	assert_false(is_new(one, 0x1234, 0, &entry));
	assert_int_equal(entry->number, 5);
	assert_int_equal(entry->value, 6);
	assert_true(is_new(one, 0x1235, 0, &entry));
	assert_true(is_new(other, 0x1234, 0, &entry));
	assert_true(is_new(NULL, 0x1234, 0, &entry));
	assert_true(is_new(one, 0, 0, &entry)); /* like a zeroed entry */
}

static void test_an_exact_address_is_another_frame(void **state)
{
	struct frame_cache_entry *entry;

	assert_true(is_new(one, 0x1234, 0, &entry));
	assert_true(is_new(one, 0x1234, WIRE_frame_flags_EXACT, &entry));
	assert_false(is_new(one, 0x1234, WIRE_frame_flags_EXACT, &entry));
}

static void test_kernel_frames_are_shared_by_all_processes(void **state)
{
	struct frame_cache_entry *entry;

	assert_true(is_new(one, 0x1234, WIRE_frame_flags_KERNEL, &entry));
	assert_false(is_new(other, 0x1234, WIRE_frame_flags_KERNEL, &entry));
	map(0);
	assert_true(is_new(one, 0x1234, WIRE_frame_flags_KERNEL, &entry));
}

static void test_another_mapping_makes_all_frames_new(void **state)
{
	struct frame_cache_entry *entry;

	assert_true(is_new(one, 0x1234, 0, &entry));
	map(2);
	assert_false(is_new(one, 0x1234, 0, &entry));
	map(1);
	assert_true(is_new(one, 0x1234, 0, &entry));
}

static void test_a_forgotten_frame_is_new(void **state)
{
	struct frame_cache_entry *entry;

	is_new(one, 0x1234, 0, &entry);
	frame_cache_forget(&cache, entry);
	assert_true(is_new(one, 0x1234, 0, &entry));
}

static void test_all_can_be_forgotten_any_number_of_times(void **state)
{
	struct frame_cache_entry *entry;

	for (int i = 0; i < 3 << 16; i++) {
		if (i % 17 == 0) /* in each 16-bit era, sooner or later */
			assert_true(is_new(one, 0x1234, 0, &entry));
		frame_cache_forget_all(&cache);
	}
	assert_true(is_new(one, 0x1234, 0, &entry));
	for (int i = 0; i < 1 << 16; i++) {
		frame_cache_forget_all(&cache);
		if (i % 4096 == 0)
			assert_true(is_new(other, 0x9234, 0, &entry));
	}
	assert_true(is_new(one, 0x1234, 0, &entry)); /* in a later era with the same number */
	assert_false(is_new(one, 0x1234, 0, &entry));
}

/* Checks how many of a stack's frames, innermost first, are known. */
static void assert_match(const struct process *process, size_t n_known, size_t n,
			 const struct wire_frame *frames)
{
	const struct wire_frames stack = { frames, n };

	assert_int_equal(frame_cache_match(&cache, &processes, process, &stack), n_known);
}

static void test_stacks_are_alike_from_the_outermost_frame_on(void **state)
{
	struct wire_frame frames[] = {
		{ .address = 4 }, { .address = 3 }, { .address = 2 }, { .address = 1 }
	};

	assert_match(one, 0, 4, frames);
	assert_match(one, 4, 4, frames);
	assert_match(one, 3, 3, frames + 1); /* the caller */
	assert_match(one, 3, 4, frames);
	frames[0].address = 5;
	assert_match(one, 3, 4, frames);
	frames[1].flags = WIRE_frame_flags_EXACT;
	assert_match(one, 2, 4, frames);
	frames[3].address = 9;
	assert_match(one, 0, 4, frames);
	assert_match(one, 0, 0, NULL);
	assert_match(one, 0, 4, frames);
}

static void test_stacks_of_other_mappings_are_not_alike(void **state)
{
	const struct wire_frame frames[] = { { .address = 2 }, { .address = 1 } };
	struct frame_cache_entry *entry;

	assert_match(one, 0, 2, frames);
	assert_match(other, 0, 2, frames);
	map(2);
	assert_match(other, 0, 2, frames);
	map(0);
	assert_match(other, 0, 2, frames);
	assert_match(other, 2, 2, frames);
	is_new(other, 2, 0, &entry);
	frame_cache_forget(&cache, entry);
	assert_match(other, 0, 2, frames); /* looked up anew completely */
	assert_match(other, 2, 2, frames);
	frame_cache_forget_all(&cache);
	assert_match(other, 0, 2, frames);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_frame_is_found_again),
		TEST(test_an_exact_address_is_another_frame),
		TEST(test_kernel_frames_are_shared_by_all_processes),
		TEST(test_another_mapping_makes_all_frames_new),
		TEST(test_a_forgotten_frame_is_new),
		TEST(test_all_can_be_forgotten_any_number_of_times),
		TEST(test_stacks_are_alike_from_the_outermost_frame_on),
		TEST(test_stacks_of_other_mappings_are_not_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
