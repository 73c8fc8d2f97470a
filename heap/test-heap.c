/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "heap/heap.h"

enum { PROCESS = 7, STACKS_EMITTED = 512 };

static struct heap heap;
static struct heap_event_writer writer;

static int set_up(void **state)
{
	const struct wire_heap_begin begin = { .process = PROCESS, .time = 1 };

	memset(&writer, 0, sizeof(writer));
	memset(&heap, 0, sizeof(heap));
	assert_int_equal(heap_init(&heap), 0);
	assert_int_equal(heap_begin(&heap, &begin), 0);
	for (uint32_t number = 1; number <= STACKS_EMITTED; number++) {
		const struct wire_heap_stack stack = { .number = number };

		assert_int_equal(heap_add_stack(&heap, &stack, 0, 0), 0);
	}
	return 0;
}

static int tear_down(void **state)
{
	heap_deinit(&heap);
	return 0;
}

static void happen(enum heap_event_kind kind, uint64_t time, uint32_t tid, uint64_t address,
		   uint64_t size, uint32_t stack)
{
	const struct heap_event event = { .kind = kind,
					  .time = time,
					  .tid = tid,
					  .address = address,
					  .size = size,
					  .stack = stack };

	heap_event_write(&writer, &event);
}

/* Zero bytes follow a record's bytes, as on the wire. */
static void emit(void)
{
	const struct wire_heap_events record = { .time = writer.begin,
						 .process = PROCESS,
						 .n = writer.n,
						 .events = { writer.bytes, writer.size } };

	assert_int_equal(heap_add_events(&heap, &record), 0);
	writer.size = writer.n = 0;
}

static void check_amount(struct heap_amount amount, uint64_t n, uint64_t bytes)
{
	assert_int_equal(amount.n, n * HEAP_ONE);
	assert_int_equal(amount.bytes, bytes);
}

static void test_the_peak_is_of_the_stacks_that_made_it(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_ALLOCATED, 20, 1, 0x2000, 50, 2);
	happen(HEAP_EVENT_FREED, 30, 1, 0x1000, 0, 0);
	happen(HEAP_EVENT_ALLOCATED, 40, 1, 0x3000, 30, 3);
	happen(HEAP_EVENT_FREED, 50, 1, 0x2000, 0, 0);
	emit();
	heap_finish(&heap, 60);
	check_amount(heap.peak, 2, 150);
	assert_int_equal(heap.peak_time, 20);
	check_amount(heap.stacks[1].at_peak, 1, 100);
	check_amount(heap.stacks[2].at_peak, 1, 50);
	check_amount(heap.stacks[3].at_peak, 0, 0);
	check_amount(heap.leaked, 1, 30);
	check_amount(heap.stacks[3].leaked, 1, 30);
	check_amount(heap.totals.allocated, 3, 180);
}

static void test_a_later_peak_takes_the_place_of_the_first(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_FREED, 20, 1, 0x1000, 0, 0);
	happen(HEAP_EVENT_ALLOCATED, 30, 1, 0x1000, 60, 2);
	happen(HEAP_EVENT_ALLOCATED, 40, 1, 0x2000, 60, 2);
	emit();
	heap_finish(&heap, 60);
	check_amount(heap.peak, 2, 120);
	check_amount(heap.stacks[1].at_peak, 0, 0);
	check_amount(heap.stacks[2].at_peak, 2, 120);
}

static void test_frees_are_counted_by_thread_and_time(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 8, 1);
	happen(HEAP_EVENT_FREED, 11, 1, 0x1000, 0, 0); /* at once */
	happen(HEAP_EVENT_ALLOCATED, 20, 1, 0x2000, 16, 2);
	happen(HEAP_EVENT_ALLOCATED, 21, 1, 0x3000, 32, 3);
	happen(HEAP_EVENT_FREED, 22, 1, 0x2000, 0, 0); /* not immediately */
	happen(HEAP_EVENT_FREED, 23, 2, 0x3000, 0, 0); /* by another thread */
	happen(HEAP_EVENT_FREED, 24, 2, 0x9000, 0, 0); /* allocated before the recording */
	emit();
	check_amount(heap.totals.temporary, 1, 8);
	check_amount(heap.totals.foreign, 1, 32);
	check_amount(heap.stacks[3].totals.foreign, 1, 32);
	check_amount(heap.threads[1].freed, 1, 32);
	assert_int_equal(heap.n_unknown_frees, 1);
	check_amount(heap.totals.live, 0, 0);
}

static void test_a_realloc_that_fails_changes_nothing(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_RELEASED, 20, 1, 0x1000, 0, 0);
	happen(HEAP_EVENT_ALLOCATED, 21, 2, 0x5000, 1, 2); /* another thread's, in between */
	happen(HEAP_EVENT_RESTORED, 22, 1, 0x1000, 0, 0);
	emit();
	check_amount(heap.totals.live, 2, 101);
	check_amount(heap.freed, 0, 0);
	check_amount(heap.totals.temporary, 0, 0);
	check_amount(heap.stacks[1].totals.temporary, 0, 0);
	check_amount(heap.lifetimes[4], 0, 0); /* 8 to 15 ns */
	check_amount(heap.stacks[1].totals.live, 1, 100);
	heap_end_process(&heap, PROCESS, 30);
	check_amount(heap.stacks[1].leaked, 1, 100);
	check_amount(heap.leaked_sizes[7], 1, 100); /* 64 to 127 bytes */
	check_amount(heap.leaked_ages[5], 1, 100);  /* 16 to 31 ns */
	check_amount(heap.totals.live, 0, 0);
}

static void test_a_reused_address_implies_a_lost_free(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_ALLOCATED, 20, 1, 0x1000, 7, 2);
	emit();
	check_amount(heap.totals.live, 1, 7);
	check_amount(heap.stacks[1].totals.live, 0, 0);
}

static void test_history_has_live_bytes_at_given_times(void **state)
{
	heap.points[0] = 15;
	heap.points[1] = 35;
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_ALLOCATED, 20, 1, 0x2000, 50, 2);
	happen(HEAP_EVENT_FREED, 30, 1, 0x1000, 0, 0);
	happen(HEAP_EVENT_FREED, 40, 1, 0x2000, 0, 0);
	emit();
	heap_finish(&heap, 50);
	check_amount(heap.stacks[1].at_points[0], 1, 100);
	check_amount(heap.stacks[2].at_points[0], 0, 0);
	check_amount(heap.stacks[1].at_points[1], 0, 0);
	check_amount(heap.stacks[2].at_points[1], 1, 50);
}

static void test_samples_stand_for_more(void **state)
{
	const struct heap_event event = { .kind = HEAP_EVENT_ALLOCATED,
					  .time = 10,
					  .tid = 1,
					  .address = 0x1000,
					  .size = 1000,
					  .stack = 1,
					  .interval = 1000 };

	heap_event_write(&writer, &event);
	happen(HEAP_EVENT_FREED, 20, 1, 0x1000, 0, 0);
	emit();
	assert_true(heap.is_sampled);
	/* 1 / (1 - exp(-1)) = 1.58198 */
	assert_in_range(heap.totals.allocated.bytes, 1581, 1583);
	assert_in_range(heap.totals.allocated.n, 404, 406);
	check_amount(heap.totals.live, 0, 0);
}

static void test_processes_have_their_own_addresses(void **state)
{
	const struct wire_heap_begin begin = { .process = 9, .time = 5 };
	struct wire_heap_events record;

	assert_int_equal(heap_begin(&heap, &begin), 0);
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	emit();
	happen(HEAP_EVENT_ALLOCATED, 11, 2, 0x1000, 30, 2);
	record = (struct wire_heap_events){
		.time = writer.begin, .process = 9, .n = 1, .events = { writer.bytes, writer.size }
	};
	assert_int_equal(heap_add_events(&heap, &record), 0);
	heap_end_process(&heap, 9, 20);
	check_amount(heap.totals.live, 1, 100);
	check_amount(heap.leaked, 1, 30);
}

/* Compares with a plain array; the addresses collide. */
static void test_live_blocks_are_found(void **state)
{
	enum { ADDRESSES = 3000, STEPS = 200000 };
	static bool is_there[ADDRESSES];
	struct blocks blocks = { 0 };
	uint64_t random = 88172645463325252ULL;
	size_t n = 0;

	for (int step = 0; step < STEPS; step++) {
		struct block *found;
		uint64_t i, key;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		i = random % ADDRESSES;
		key = 1ULL << BLOCKS_ADDRESS_BITS | (i % 2 ? 1ULL << 46 | i << 14 : (i + 1) << 4);
		found = blocks_find(&blocks, key);
		assert_int_equal(found != NULL, is_there[i]);
		if (found) {
			assert_int_equal(found->size, i);
			blocks_remove(&blocks, found);
			n--;
		} else {
			const struct block block = { .key = key, .size = i };

			assert_int_equal(blocks_add(&blocks, &block), 0);
			n++;
		}
		is_there[i] = !is_there[i];
		assert_int_equal(blocks.n, n);
	}
	blocks_deinit(&blocks);
}

static void test_mappings_are_cut(void **state)
{
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x10000, 100,
	       1); /* where a mapping will begin as well */
	happen(HEAP_EVENT_MAPPED, 20, 1, 0x10000, 0x8000, 2);
	emit();
	check_amount(heap.totals.live, 2, 0x8000 + 100);
	check_amount(heap.mapped, 1, 0x8000);
	happen(HEAP_EVENT_UNMAPPED, 30, 1, 0x10000, 0x8000, 2);
	happen(HEAP_EVENT_REMAINED, 30, 1, 0x10000, 0x1000, 2);
	happen(HEAP_EVENT_REMAINED, 30, 1, 0x14000, 0x4000, 2);
	emit();
	check_amount(heap.totals.live, 3, 0x5000 + 100);
	check_amount(heap.stacks[2].totals.live, 2, 0x5000);
	check_amount(heap.totals.allocated, 3, 0x8000 + 100);
	check_amount(heap.freed, 0, 0x3000);
	check_amount(heap.totals.temporary, 0, 0); /* none yet: most of the mapping remains */
	happen(HEAP_EVENT_UNMAPPED, 40, 1, 0x10000, 0x1000, 2);
	happen(HEAP_EVENT_UNMAPPED, 40, 1, 0x14000, 0x4000, 2);
	emit();
	check_amount(heap.freed, 2, 0x8000);
	check_amount(heap.totals.live, 1, 100);
	heap_finish(&heap, 50);
	check_amount(heap.leaked, 1, 100);
	check_amount(heap.mapped_leaked, 0, 0);
}

static void test_only_the_selected_kind_is_counted(void **state)
{
	heap.scope = HEAP_MAPPINGS_ONLY;
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x10000, 100, 1);
	happen(HEAP_EVENT_MAPPED, 20, 1, 0x20000, 0x8000, 2);
	emit();
	check_amount(heap.totals.live, 1, 0x8000);
	heap.scope = HEAP_BLOCKS_ONLY;
	happen(HEAP_EVENT_ALLOCATED, 30, 1, 0x30000, 7, 1);
	happen(HEAP_EVENT_UNMAPPED, 40, 1, 0x20000, 0x8000, 2);
	emit();
	check_amount(heap.totals.live, 2, 0x8000 + 7);
}

/* The bytes that a stack had alive at a time, from the history. */
static uint64_t alive_at(uint64_t time, uint32_t stack)
{
	const struct history *history = &heap.history;
	uint64_t bytes = 0;

	for (size_t i = 0; i < history->n_changes; i++) {
		const struct history_change *change = &history->changes[i];

		assert_true(i == 0 || change[-1].moment <= change->moment);
		if (change->stack == stack && history->times[change->moment] <= time)
			bytes = change->bytes;
	}
	return bytes;
}

/* Stack 1 grows by a byte per microsecond; stack 2 is alive every other millisecond. */
static void test_history_has_live_bytes_at_any_time(void **state)
{
	enum { MICROSECOND = 1000, MILLISECOND = 1000000, N = 500 };
	uint32_t n_before = 0;

	history_keep(&heap);
	for (uint64_t i = 0; i < N; i++) {
		uint64_t time = 1 + i * MILLISECOND;

		for (uint64_t k = 0; k < 10; k++)
			happen(HEAP_EVENT_ALLOCATED, time + k * 100 * MICROSECOND, 1,
			       0x100000 + (i * 10 + k) * 16, 100, 1);
		happen(i % 2 ? HEAP_EVENT_FREED : HEAP_EVENT_ALLOCATED,
		       time + MILLISECOND / 2 + 999999 / 2, 1, 0x10000, 5, 2);
		emit();
		assert_in_range(heap.history.n_moments, n_before ? n_before / 2 : 0,
				HISTORY_MOMENTS);
		n_before = heap.history.n_moments;
	}
	heap_finish(&heap, 1 + (uint64_t)N * MILLISECOND);
	assert_in_range(heap.history.n_moments, HISTORY_MOMENTS / 2, HISTORY_MOMENTS);
	for (uint32_t i = 0; i < heap.history.n_moments; i++) {
		uint64_t time = heap.history.times[i];
		uint64_t n = (time - 1) / (100 * MICROSECOND) + 1;

		if (n > 10 * N)
			n = 10 * N;

		assert_true(i == 0 || time > heap.history.times[i - 1]);
		assert_int_equal(alive_at(time, 1), 100 * n);
	}
	assert_int_equal(alive_at(UINT64_MAX, 1), 10 * N * 100);
}

/* Of interest is what the last process left, not that it ended. */
static void test_the_last_moment_is_before_the_end(void **state)
{
	history_keep(&heap);
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	emit();
	heap_end_process(&heap, PROCESS, 20);
	heap_finish(&heap, 30);
	assert_int_equal(alive_at(UINT64_MAX, 1), 100);
	check_amount(heap.leaked, 1, 100);
}

static void test_time_gets_coarser_as_it_goes_on(void **state)
{
	static struct timeline timeline;
	uint64_t end = 1000000ULL * TIMELINE_FIRST_NS, n = 0;

	for (uint64_t time = 1; time < end; time += TIMELINE_FIRST_NS / 3) {
		struct timeline_interval *interval = timeline_at(&timeline, time);

		interval->n_allocated++;
		interval->last_bytes = interval->most_bytes = time;
		n++;
	}
	assert_in_range(timeline.n, TIMELINE_INTERVALS / 2 - 1, TIMELINE_INTERVALS);
	for (uint32_t i = 0; i < timeline.n; i++)
		n -= timeline.intervals[i].n_allocated;
	assert_int_equal(n, 0);
	assert_true(timeline.intervals[timeline.n - 1].last_bytes > end - TIMELINE_FIRST_NS);
}

/* Any value must be read back as written. */
static void test_events_are_read_as_they_were_written(void **state)
{
	static const enum heap_event_kind kinds[] = {
		HEAP_EVENT_ALLOCATED, HEAP_EVENT_FREED,	   HEAP_EVENT_RELEASED, HEAP_EVENT_RESTORED,
		HEAP_EVENT_MAPPED,    HEAP_EVENT_UNMAPPED, HEAP_EVENT_REMAINED,
	};
	static struct heap_event events[2000];
	struct wire_heap_events record;
	struct heap_event_reader reader;
	struct heap_event found;
	uint64_t random = 1234567, time = 1;

	for (size_t i = 0; i < 2000; i++) {
		struct heap_event *event = &events[i];

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		time += random >> 60 ? random >> 54 : random >> 20;
		event->kind = kinds[(random >> 33) % (sizeof(kinds) / sizeof(*kinds))];
		event->time = time;
		event->tid = (random >> 40) % 3 * 70000 + 1;
		event->address = random >> 16 >> (random & 31);
		if (heap_event_has_size(event->kind)) {
			event->size = random >> (8 + (random >> 5 & 47));
			event->stack = random >> 35;
		}
		if (event->kind == HEAP_EVENT_ALLOCATED)
			event->interval = random >> 50 & 1 ? 4096 : 0;
		assert_false(heap_event_writer_is_full(&writer));
		heap_event_write(&writer, event);
	}
	record = (struct wire_heap_events){ .time = writer.begin,
					    .events = { writer.bytes, writer.size } };
	reader = heap_event_reader(&record);
	for (size_t i = 0; i < 2000; i++) {
		assert_true(heap_event_next(&reader, &found));
		assert_int_equal(found.kind, events[i].kind);
		assert_int_equal(found.time, events[i].time);
		assert_int_equal(found.tid, events[i].tid);
		assert_int_equal(found.address, events[i].address);
		if (!heap_event_has_size(found.kind))
			continue;
		assert_int_equal(found.size, events[i].size);
		assert_int_equal(found.stack, events[i].stack);
		if (found.kind == HEAP_EVENT_ALLOCATED)
			assert_int_equal(found.interval, events[i].interval);
	}
	assert_false(heap_event_next(&reader, &found));
	assert_false(reader.is_damaged);
	for (size_t cut = 1; cut < 5; cut++) {
		record.events.size = writer.size - cut;
		reader = heap_event_reader(&record);
		while (heap_event_next(&reader, &found))
			;
		assert_true(reader.is_damaged);
	}
}

/* The number determines memory use, and a short stream could name any. */
static void test_a_stack_without_record_uses_no_memory(void **state)
{
	const struct wire_heap_stack far_away = { .number = HEAP_STACKS_MAX - 1 };

	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, HEAP_STACKS_MAX - 1);
	emit();
	assert_int_equal(heap_add_stack(&heap, &far_away, 0, 0), 0);
	assert_int_equal(heap.n_refused, 2);
	assert_int_equal(heap.n_stacks, STACKS_EMITTED + 1);
	check_amount(heap.stacks[0].totals.live, 1, 100);
}

/* A stream may use the largest time, which must not wrap around. */
static void test_the_end_of_time(void **state)
{
	history_keep(&heap);
	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	happen(HEAP_EVENT_ALLOCATED, 20, 1, 0x2000, 100, 2);
	emit();
	happen(HEAP_EVENT_FREED, UINT64_MAX - 1, 1, 0x1000, 0, 0);
	emit();
	happen(HEAP_EVENT_FREED, UINT64_MAX, 1, 0x2000, 0, 0);
	emit();
	heap_finish(&heap, UINT64_MAX);
	assert_in_range(heap.history.n_moments, 1, HISTORY_MOMENTS);
	assert_int_equal(heap.totals.live.bytes, 0);
}

/* Processes without blocks must end quickly, whatever others hold. */
static void test_many_processes_end(void **state)
{
	enum { PROCESSES = 20000 };

	for (uint64_t number = 1; number <= PROCESSES; number++) {
		const struct wire_heap_begin begin = { .process = PROCESS + number };

		assert_int_equal(heap_begin(&heap, &begin), 0);
	}
	for (uint32_t i = 0; i < 1000; i++)
		happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000 + 16 * i, 1, 1);
	emit();
	for (uint64_t number = 1; number <= PROCESSES; number++)
		heap_end_process(&heap, PROCESS + number, 20);
	check_amount(heap.totals.live, 1000, 1000);
	heap_finish(&heap, 30);
	check_amount(heap.leaked, 1000, 1000);
}

/* Forged amounts must not wrap sums, and a later subtraction must not make them look genuine. */
static void test_sums_saturate_and_are_reported(void **state)
{
	struct wire_heap_lost lost = { .time = 10, .n_freed = UINT64_MAX - 1 };

	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, HEAP_BLOCK_MAX + 1, 1);
	happen(HEAP_EVENT_MAPPED, 10, 1, 0x1000, HEAP_BLOCK_MAX + 1, 1);
	emit();
	assert_int_equal(heap.n_refused, 2);
	check_amount(heap.totals.allocated, 0, 0);
	assert_int_equal(heap_add_lost(&heap, &lost, NULL), 0);
	assert_false(heap_is_full(&heap));
	assert_int_equal(heap_add_lost(&heap, &lost, NULL), 0);
	assert_true(heap_is_full(&heap));
	assert_true(heap_losses_n(&heap.losses) == UINT64_MAX);
}

/* A process that forged one record may have forged earlier ones. */
static void test_a_forger_is_tainted_from_its_beginning(void **state)
{
	struct process process = { .number = PROCESS, .pid = 123, .name = "evil\033" };
	struct wire_heap_lost lost = { .time = 900, .process = PROCESS };
	char text[HEAP_FORGERS_TEXT];

	happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, 100, 1);
	emit();
	assert_int_equal(heap_add_lost(&heap, &lost, &process), 0);
	assert_false(heap_is_forged(&heap, PROCESS));
	assert_string_equal(heap_forgers_text(&heap, text), "");
	assert_int_equal(heap.losses.since, 900);
	lost.flags = WIRE_heap_lost_flags_FORGED;
	for (uint32_t i = 0; i < HEAP_FORGERS_NAMED + 2; i++) {
		assert_int_equal(heap_add_lost(&heap, &lost, i ? NULL : &process), 0);
		assert_int_equal(heap_add_lost(&heap, &lost, &process), 0); /* reported twice */
		lost.process++;
	}
	assert_int_equal(heap.losses.since, heap.first_time);
	assert_true(heap_is_forged(&heap, PROCESS));
	assert_int_equal(heap.n_forgers, HEAP_FORGERS_NAMED + 2);
	assert_string_equal(heap_forgers_text(&heap, text),
			    "evil\\u{1b} (123),  (0),  (0),  (0) and 2 more");
}

static void test_the_sum_of_huge_blocks_saturates(void **state)
{
	enum { TIMES = 1 << 17, A_RECORD = 1000 };

	for (uint32_t i = 0; i <= TIMES; i++) {
		happen(HEAP_EVENT_ALLOCATED, 10, 1, 0x1000, HEAP_BLOCK_MAX, 1);
		if (i % A_RECORD == 0)
			emit();
	}
	emit();
	assert_true(heap.totals.allocated.bytes == UINT64_MAX);
	assert_true(heap_is_full(&heap));
	happen(HEAP_EVENT_FREED, 10, 1, 0x1000, 0, 0);
	emit();
	assert_int_equal(heap.totals.live.bytes, 0);
}

/* With an absurd sampling mean one block would stand for more than can exist. */
static void test_a_mean_between_samples_has_a_limit(void **state)
{
	struct heap_event event = { HEAP_EVENT_ALLOCATED, 1, 1, 10, 0x1000, 1, 0 };

	event.interval = HEAP_BLOCK_MAX + 1;
	heap_event_write(&writer, &event);
	emit();
	assert_int_equal(heap.n_refused, 1);
	check_amount(heap.totals.allocated, 1, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_stack_without_record_uses_no_memory),
		TEST(test_the_end_of_time),
		TEST(test_many_processes_end),
		TEST(test_sums_saturate_and_are_reported),
		TEST(test_a_forger_is_tainted_from_its_beginning),
		TEST(test_the_sum_of_huge_blocks_saturates),
		TEST(test_a_mean_between_samples_has_a_limit),
		TEST(test_the_peak_is_of_the_stacks_that_made_it),
		TEST(test_a_later_peak_takes_the_place_of_the_first),
		TEST(test_frees_are_counted_by_thread_and_time),
		TEST(test_a_realloc_that_fails_changes_nothing),
		TEST(test_a_reused_address_implies_a_lost_free),
		TEST(test_history_has_live_bytes_at_given_times),
		TEST(test_samples_stand_for_more),
		TEST(test_processes_have_their_own_addresses),
		TEST(test_live_blocks_are_found),
		TEST(test_mappings_are_cut),
		TEST(test_only_the_selected_kind_is_counted),
		TEST(test_history_has_live_bytes_at_any_time),
		TEST(test_the_last_moment_is_before_the_end),
		TEST(test_time_gets_coarser_as_it_goes_on),
		TEST(test_events_are_read_as_they_were_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
