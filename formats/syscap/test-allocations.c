/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/syscap/allocations.h"

static struct heap_allocations allocations;

static int set_up(void **state)
{
	heap_allocations_init(&allocations);
	return 0;
}

static int tear_down(void **state)
{
	heap_allocations_deinit(&allocations);
	return 0;
}

static void test_stacks_are_found_by_number(void **state)
{
	static const uint64_t addresses[] = { 1, 2, 3 };
	const uint64_t *found;
	size_t n;

	assert_int_equal(heap_allocations_add_stack(&allocations, 7, addresses, 3), 0);
	found = heap_allocations_stack(&allocations, 7, &n);
	assert_int_equal(n, 3);
	assert_memory_equal(found, addresses, sizeof(addresses));
	assert_null(heap_allocations_stack(&allocations, 6, &n));
	assert_int_equal(n, 0);
	assert_null(heap_allocations_stack(&allocations, 8, &n));
}

static void test_a_stack_beyond_the_limit_has_no_addresses(void **state)
{
	const uint64_t address = 1;
	size_t n;

	assert_int_equal(
		heap_allocations_add_stack(&allocations, HEAP_ALLOCATIONS_STACKS_MAX, &address, 1),
		0);
	assert_int_equal(allocations.n_refused, 1);
	assert_int_equal(allocations.n_stacks, 0);
	assert_null(heap_allocations_stack(&allocations, HEAP_ALLOCATIONS_STACKS_MAX, &n));
}

/* Whether an event is due; `ret_freed` is the address to be freed before it. */
static bool take(uint32_t tid, enum heap_event_kind kind, uint64_t address, uint64_t *ret_freed)
{
	const struct heap_event event = { .kind = kind, .tid = tid, .address = address };
	struct heap_event freed;
	bool is_due;

	assert_int_equal(heap_allocations_take(&allocations, 1, &event, &freed, &is_due), 0);
	*ret_freed = freed.address;
	return is_due;
}

static void test_a_released_block_is_freed_or_restored(void **state)
{
	uint64_t freed;

	assert_false(take(1, HEAP_EVENT_RELEASED, 0x10, &freed));
	assert_false(take(2, HEAP_EVENT_RELEASED, 0x20, &freed));
	assert_int_equal(freed, 0);
	assert_true(take(1, HEAP_EVENT_ALLOCATED, 0x30, &freed));
	assert_int_equal(freed, 0x10);
	assert_false(take(2, HEAP_EVENT_RESTORED, 0x20, &freed));
	assert_int_equal(freed, 0);
	assert_true(take(2, HEAP_EVENT_FREED, 0x20, &freed));
	assert_int_equal(freed, 0);
}

static void test_threads_beyond_the_limit_free_at_once(void **state)
{
	uint64_t freed;

	for (uint32_t tid = 1; tid <= HEAP_ALLOCATIONS_RELEASED_MAX; tid++)
		assert_false(take(tid, HEAP_EVENT_RELEASED, 0x10, &freed));
	assert_true(take(HEAP_ALLOCATIONS_RELEASED_MAX + 1, HEAP_EVENT_RELEASED, 0x10, &freed));
	assert_int_equal(freed, 0);
	assert_false(take(HEAP_ALLOCATIONS_RELEASED_MAX + 1, HEAP_EVENT_RESTORED, 0x10, &freed));
	assert_true(take(1, HEAP_EVENT_ALLOCATED, 0x30, &freed));
	assert_int_equal(freed, 0x10);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_stacks_are_found_by_number),
		TEST(test_a_stack_beyond_the_limit_has_no_addresses),
		TEST(test_a_released_block_is_freed_or_restored),
		TEST(test_threads_beyond_the_limit_free_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
