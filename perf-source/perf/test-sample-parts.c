/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contexts and parts of stacks, in a ring in plain memory, and the samples that take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/source/perf-record.h"
#include "common/wire/wire.h"
#include "perf-source/perf/merge.h"
#include "perf-source/perf/sample-parts.h"
#include "perf-source/perf/test-rings.h"

enum { RING_SIZE = 4096, TID = 7, SP = 0x1000, COPIED = 64, SIZE = 32, ID = 99 };

static struct ring ring;
static struct merge merge;
static struct sample_parts parts;

static int set_up(void **state)
{
	test_rings_open(&ring, 1, RING_SIZE);
	merge_init(&merge, &ring, 1);
	merge_expect_parts(&merge, 0, ID);
	return 0;
}

static int tear_down(void **state)
{
	sample_parts_deinit(&parts);
	merge_deinit(&merge);
	test_rings_close(&ring, 1);
	return 0;
}

static bool put(uint64_t time, enum sample_part_kind kind, uint64_t sp, uint64_t address,
		uint32_t size, uint32_t end)
{
	_Alignas(8) char bytes[RING_SIZE] = { 0 };
	struct perf_record_raw *raw = (void *)bytes;
	const struct sample_part part = { sp, address, size, kind, end };

	raw->header.type = PERF_RECORD_SAMPLE;
	raw->tid = TID;
	raw->time = time;
	raw->event_id = ID;
	raw->size = sizeof(part) + size;
	raw->header.size = (offsetof(struct perf_record_raw, data) + raw->size + 7) / 8 * 8;
	memcpy(raw->data, &part, sizeof(part));
	memset(raw->data + sizeof(part), address, size);
	return test_ring_put(&ring, raw, raw->header.size);
}

static bool put_stack(uint64_t time, uint64_t sp, uint32_t cut)
{
	return put(time, SAMPLE_PART_STACK, sp, sp, COPIED, cut);
}

static bool put_deeper(uint64_t time, uint64_t sp, uint64_t address, uint32_t size, uint32_t cut)
{
	return put(time, SAMPLE_PART_DEEPER, sp, address, size, cut);
}

static bool put_context(uint64_t time, uint64_t sp)
{
	return put(time, SAMPLE_PART_CONTEXT, sp, 0, SIZE, WIRE_context_state_READ);
}

static bool put_other(uint64_t time)
{
	struct {
		struct perf_event_header header;
		struct perf_record_id id;
	} record = { { PERF_RECORD_LOST, 0, sizeof(record) }, { .time = time } };

	return test_ring_put(&ring, &record, sizeof(record));
}

/* Takes all records that are there. */
static size_t take_all(void)
{
	struct merge_record record;
	size_t n = 0;

	merge_look(&merge);
	for (; merge_next(&merge, UINT64_MAX - 1, &record) == 0; n++)
		if (merge_is_part(&merge, &record))
			assert_int_equal(
				sample_parts_take(&parts, &ring, (const void *)record.header), 0);
	return n;
}

static void test_parts_wait_for_their_sample_and_have_its_time(void **state)
{
	struct merge_record record;

	put_stack(30, SP, 0);
	put_deeper(31, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	assert_int_equal(take_all(), 0);
	put_other(20); /* the kernel took its time before it ran the program */
	merge_look(&merge);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(merge_next(&merge, 20, &record), 0);
		assert_int_equal(record.time, 20);
		assert_int_equal(merge_is_part(&merge, &record), i < 2);
	}
	assert_int_equal(merge.n_late, 0);
}

static void test_a_sample_takes_its_stack(void **state)
{
	put_stack(1, SP, 0);
	put_other(1);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_false(sample_parts_are_of(&parts, TID, SP + 8));
	assert_false(sample_parts_are_of(&parts, TID + 1, SP));
	assert_int_equal(parts.stack->size, COPIED);
	assert_null(parts.context);
	assert_int_equal(parts.n, 0);
	assert_int_equal(parts.cut, 0);
	sample_parts_clear(&parts, &ring);
	assert_false(sample_parts_are_of(&parts, TID, SP));
}

static void test_a_sample_takes_what_continues_its_stack(void **state)
{
	put_stack(1, SP, 0);
	put_deeper(1, SP, SP + COPIED, SIZE, 0);
	put_deeper(1, SP, SP + COPIED + SIZE, SIZE, WIRE_stack_cut_LIMIT);
	put_other(1);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_int_equal(parts.n, 2);
	assert_int_equal(parts.cut, WIRE_stack_cut_LIMIT);
}

static void test_a_cut_alone_is_of_a_sample_too(void **state)
{
	put_stack(1, SP, 0);
	put_deeper(1, SP, SP + COPIED, 0, WIRE_stack_cut_ROOM);
	put_other(1);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_int_equal(parts.n, 0);
	assert_int_equal(parts.cut, WIRE_stack_cut_ROOM);
}

/* Its begin was lost, or a part before it. */
static void test_what_continues_no_stack_is_of_no_sample(void **state)
{
	put_deeper(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(1);
	take_all();
	assert_false(sample_parts_are_of(&parts, TID, SP));
	put_stack(2, SP, 0);
	put_deeper(2, SP, SP + COPIED + SIZE, SIZE, WIRE_stack_cut_END);
	put_other(2);
	take_all();
	assert_false(sample_parts_are_of(&parts, TID, SP));
	assert_int_equal(parts.n, 0);
	assert_int_equal(parts.cut, 0);
}

/* The sample of the first one was lost. */
static void test_another_stack_begins_anew(void **state)
{
	put_stack(1, SP, 0);
	put_deeper(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_stack(2, SP, 0);
	put_other(2);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_int_equal(parts.n, 0);
	assert_int_equal(parts.cut, 0);
	put_stack(3, SP, WIRE_stack_cut_ABSENT);
	put_stack(4, SP + 8, 0);
	put_other(4);
	take_all();
	assert_false(sample_parts_are_of(&parts, TID, SP));
	assert_true(sample_parts_are_of(&parts, TID, SP + 8));
	assert_int_equal(parts.cut, 0);
}

static void test_the_ring_keeps_parts_until_they_are_cleared(void **state)
{
	uint64_t tail;

	put_other(1);
	put_stack(2, SP, 0);
	put_deeper(2, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(2);
	take_all();
	merge_release(&merge);
	tail = ring.page->data_tail;
	assert_int_equal(tail, sizeof(struct perf_event_header) + sizeof(struct perf_record_id));
	assert_memory_equal(parts.deeper[0] + 1, "@@@@", 4); /* SP + COPIED */
	sample_parts_clear(&parts, &ring);
	merge_release(&merge);
	assert_int_equal(ring.page->data_tail, ring.page->data_head);
}

static void test_a_sample_takes_its_context(void **state)
{
	put_context(1, SP);
	put_stack(1, SP, 0);
	put_deeper(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(1);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_int_equal(parts.context->end, WIRE_context_state_READ);
	assert_non_null(parts.stack);
	assert_int_equal(parts.n, 1);
	sample_parts_clear(&parts, &ring);
	assert_null(parts.context);
	assert_null(parts.stack);
}

static void test_a_sample_takes_its_walk(void **state)
{
	put_context(1, SP);
	put(1, SAMPLE_PART_MEMORY, SP, SP, SIZE, 0); /* of no sample alone */
	put(1, SAMPLE_PART_WALK, SP, 0, SIZE, 0);
	put_stack(1, SP, 0);
	put_other(1);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_non_null(parts.context);
	assert_int_equal(parts.walk->size, SIZE);
	assert_non_null(parts.stack);
	put(2, SAMPLE_PART_WALK, SP, 0, SIZE, 0); /* the one before was lost */
	put_other(2);
	take_all();
	assert_true(sample_parts_are_of(&parts, TID, SP));
	assert_null(parts.context);
	assert_null(parts.stack);
}

static void test_a_context_alone_holds_the_ring(void **state)
{
	put_context(1, SP);
	put_other(1);
	take_all();
	merge_release(&merge);
	assert_int_equal(ring.page->data_tail, 0);
	assert_true(sample_parts_are_of(&parts, TID, SP));
	sample_parts_clear(&parts, &ring);
	merge_release(&merge);
	assert_int_equal(ring.page->data_tail, ring.page->data_head);
}

/* The sample of the first one was lost: what comes then is of another one. */
static void test_a_second_context_begins_anew(void **state)
{
	put_context(1, SP);
	put_stack(1, SP, WIRE_stack_cut_LIMIT);
	put_context(2, SP);
	put_other(2);
	take_all();
	assert_null(parts.stack);
	assert_int_equal(parts.cut, 0);
	assert_non_null(parts.context);
	put_stack(3, SP, 0);
	put_other(3);
	take_all();
	assert_non_null(parts.context);
	assert_non_null(parts.stack);
	put_stack(4, SP, 0); /* one without a context */
	put_other(4);
	take_all();
	assert_null(parts.context);
	assert_non_null(parts.stack);
}

static void test_damaged_parts_are_not_taken(void **state)
{
	struct perf_record_raw raw = { .header = { PERF_RECORD_SAMPLE, 0, sizeof(raw) },
				       .tid = TID,
				       .event_id = ID,
				       .size = SIZE };

	raw.header.size = sizeof(raw) / 8 * 8 + 8;
	assert_int_equal(sample_parts_take(&parts, &ring, &raw), 0);
	assert_false(sample_parts_are_of(&parts, TID, 0));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_parts_wait_for_their_sample_and_have_its_time),
		TEST(test_a_sample_takes_its_stack),
		TEST(test_a_sample_takes_what_continues_its_stack),
		TEST(test_a_cut_alone_is_of_a_sample_too),
		TEST(test_what_continues_no_stack_is_of_no_sample),
		TEST(test_another_stack_begins_anew),
		TEST(test_the_ring_keeps_parts_until_they_are_cleared),
		TEST(test_a_sample_takes_its_context),
		TEST(test_a_sample_takes_its_walk),
		TEST(test_a_context_alone_holds_the_ring),
		TEST(test_a_second_context_begins_anew),
		TEST(test_damaged_parts_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
