/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of deep stacks, in a ring in plain memory, and the samples that take them. */
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

static bool put_part(uint64_t time, uint64_t sp, uint64_t address, uint32_t size, uint32_t cut)
{
	return put(time, SAMPLE_PART_STACK, sp, address, size, cut);
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

	put_part(30, SP, SP + COPIED, SIZE, 0);
	put_part(31, SP, SP + COPIED + SIZE, SIZE, WIRE_stack_cut_END);
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

static void test_a_sample_takes_what_continues_its_stack(void **state)
{
	put_part(1, SP, SP + COPIED, SIZE, 0);
	put_part(1, SP, SP + COPIED + SIZE, SIZE, WIRE_stack_cut_LIMIT);
	put_other(1);
	take_all();
	assert_int_equal(parts.n, 2);
	assert_int_equal(parts.cut, WIRE_stack_cut_LIMIT);
	assert_true(sample_parts_are_of(&parts, TID, SP, COPIED));
	assert_true(sample_parts_are_of(&parts, TID, SP, COPIED + 8)); /* both may overlap */
	assert_false(sample_parts_are_of(&parts, TID, SP, COPIED - 8));
	assert_false(sample_parts_are_of(&parts, TID, SP + 8, COPIED));
	assert_false(sample_parts_are_of(&parts, TID + 1, SP, COPIED));
}

static void test_unfinished_parts_are_of_no_sample(void **state)
{
	put_part(1, SP, SP + COPIED, SIZE, 0);
	put_other(1);
	take_all();
	assert_int_equal(parts.n, 1);
	assert_false(sample_parts_are_of(&parts, TID, SP, COPIED));
}

static void test_a_cut_alone_is_of_a_sample_too(void **state)
{
	put_part(1, SP, SP + COPIED, 0, WIRE_stack_cut_ROOM);
	put_other(1);
	take_all();
	assert_int_equal(parts.n, 0);
	assert_true(sample_parts_are_of(&parts, TID, SP, 0));
	sample_parts_clear(&parts, &ring);
	assert_false(sample_parts_are_of(&parts, TID, SP, 0));
}

/* The sample of the first ones was lost, or a part of them. */
static void test_parts_of_another_stack_begin_anew(void **state)
{
	put_part(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_part(2, SP, SP + COPIED, SIZE, 0);
	put_part(2, SP, SP + COPIED + 2 * SIZE, SIZE, WIRE_stack_cut_END);
	put_other(2);
	take_all();
	assert_int_equal(parts.n, 1);
	assert_int_equal(parts.list[0]->address, SP + COPIED + 2 * SIZE);
	assert_false(sample_parts_are_of(&parts, TID, SP, COPIED));
}

static void test_the_ring_keeps_parts_until_they_are_cleared(void **state)
{
	uint64_t tail;

	put_other(1);
	put_part(2, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(2);
	take_all();
	merge_release(&merge);
	tail = ring.page->data_tail;
	assert_int_equal(tail, sizeof(struct perf_event_header) + sizeof(struct perf_record_id));
	assert_memory_equal(parts.list[0] + 1, "@@@@", 4); /* SP + COPIED */
	sample_parts_clear(&parts, &ring);
	merge_release(&merge);
	assert_int_equal(ring.page->data_tail, ring.page->data_head);
}

static void test_a_sample_takes_its_context(void **state)
{
	const struct sample_part *context;

	put_context(1, SP);
	put_part(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(1);
	take_all();
	context = sample_parts_context(&parts, TID, SP);
	assert_non_null(context);
	assert_int_equal(context->end, WIRE_context_state_READ);
	assert_true(sample_parts_are_of(&parts, TID, SP, COPIED));
	assert_null(sample_parts_context(&parts, TID + 1, SP));
	assert_null(sample_parts_context(&parts, TID, SP + 8));
	sample_parts_clear(&parts, &ring);
	assert_null(sample_parts_context(&parts, TID, SP));
}

static void test_a_context_alone_holds_the_ring(void **state)
{
	put_context(1, SP);
	put_other(1);
	take_all();
	merge_release(&merge);
	assert_int_equal(ring.page->data_tail, 0);
	assert_non_null(sample_parts_context(&parts, TID, SP));
	assert_false(sample_parts_are_of(&parts, TID, SP, COPIED));
}

/* The sample of the first one was lost: what comes then is of another one. */
static void test_a_second_context_begins_anew(void **state)
{
	put_context(1, SP);
	put_part(1, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_context(2, SP);
	put_other(2);
	take_all();
	assert_int_equal(parts.n, 0);
	assert_false(sample_parts_are_of(&parts, TID, SP, COPIED));
	assert_non_null(sample_parts_context(&parts, TID, SP));
	put_part(3, SP, SP + COPIED, SIZE, WIRE_stack_cut_END);
	put_other(3);
	take_all();
	assert_non_null(sample_parts_context(&parts, TID, SP));
	put_part(4, SP, SP + COPIED, SIZE, WIRE_stack_cut_END); /* one without a context */
	put_other(4);
	take_all();
	assert_null(sample_parts_context(&parts, TID, SP));
}

static void test_damaged_parts_are_not_taken(void **state)
{
	struct perf_record_raw raw = { .header = { PERF_RECORD_SAMPLE, 0, sizeof(raw) },
				       .tid = TID,
				       .event_id = ID,
				       .size = SIZE };

	raw.header.size = sizeof(raw) / 8 * 8 + 8;
	assert_int_equal(sample_parts_take(&parts, &ring, &raw), 0);
	assert_int_equal(parts.n, 0);
	assert_int_equal(parts.cut, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_parts_wait_for_their_sample_and_have_its_time),
		TEST(test_a_sample_takes_what_continues_its_stack),
		TEST(test_unfinished_parts_are_of_no_sample),
		TEST(test_a_cut_alone_is_of_a_sample_too),
		TEST(test_parts_of_another_stack_begin_anew),
		TEST(test_the_ring_keeps_parts_until_they_are_cleared),
		TEST(test_a_sample_takes_its_context),
		TEST(test_a_context_alone_holds_the_ring),
		TEST(test_a_second_context_begins_anew),
		TEST(test_damaged_parts_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
