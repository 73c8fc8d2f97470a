/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings as a traced program writes them, and the records made from them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "preload-source/reader/traced.h"

enum {
	EVENTS_MAX = 4096,
	UPID = 9,
	MASK = HEAP_RING_WORDS - 1,
	NO_TID = 0x3fffffff, /* beyond the kernel's PID_MAX_LIMIT */
};

static const struct stage_program program = { .name = "test", .role = STAGE_SOURCE };
static struct stage stage;
static struct processes processes;
static struct heap_encoder *encoder;
static struct traced *traced;
static uint64_t begin; /* start of record times, by the rings' clock */

/* Everything emitted. */
static struct heap_event events[EVENTS_MAX];
static size_t n_events, n_stacks, n_samples;
static struct wire_heap_lost losses[16];
static size_t n_losses;

static void make_traced(struct traced_policy policy)
{
	const struct traced_process process = { .pid = getpid(), .own_pid = getpid(), -1, -1 };

	assert_int_equal(traced_begin(&process, &policy, &traced), 0);
	traced->process.upid = UPID;
	traced->region->n_claims = 1;
	begin = time_map_now(traced->time_map.clock);
	while (time_map_now(traced->time_map.clock) < begin + EVENTS_MAX)
		;
}

static int set_up(void **state)
{
	const struct wire_hello hello = { 0 };

	stage = (struct stage){ .program = &program, .quiet = true };
	n_events = n_stacks = n_samples = n_losses = 0;
	assert_int_equal(wire_writer_init(&stage.writer, memfd_create("output", MFD_CLOEXEC)), 0);
	assert_int_equal(stage_put(&stage, WIRE_RECORD_hello, &hello), 0);
	encoder = calloc(1, sizeof(*encoder));
	assert_non_null(encoder);
	assert_int_equal(heap_encoder_init(encoder, &stage, &processes), 0);
	make_traced((struct traced_policy){ .when_full = HEAP_BLOCK });
	return 0;
}

static int tear_down(void **state)
{
	traced_free(traced);
	heap_encoder_deinit(encoder);
	free(encoder);
	close(stage.writer.fd);
	wire_writer_deinit(&stage.writer);
	counters_deinit(&stage.counters);
	return 0;
}

static uint64_t first_word(enum heap_record kind, uint64_t time)
{
	return (uint64_t)kind << HEAP_KIND_SHIFT | time;
}

/* Appends words to the ring; they must not wrap around its end. */
static void put_words(uint32_t ring, const uint64_t *words, size_t n)
{
	struct heap_ring *to = heap_ring_at(traced->region, ring);

	for (size_t i = 0; i < n; i++)
		to->words[(to->head + i) & MASK] = words[i];
	__atomic_store_n(&to->head, to->head + n, __ATOMIC_RELEASE);
}

#define PUT(ring, ...)                                                                             \
	put_words(ring, (const uint64_t[]){ __VA_ARGS__ },                                         \
		  sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void put_thread(uint32_t ring, uint32_t tid)
{
	PUT(ring, first_word(HEAP_RECORD_THREAD, 0), tid);
}

/* A freed block, which tests identify by its address. `after` is relative to `begin`. */
static void put_freed(uint32_t ring, uint64_t after, uint64_t address)
{
	PUT(ring, first_word(HEAP_RECORD_FREED, begin + after), address);
}

static void put_allocated(uint32_t ring, uint64_t after, uint64_t address, uint32_t slot)
{
	PUT(ring, first_word(HEAP_RECORD_ALLOCATED, begin + after),
	    address | (uint64_t)slot << HEAP_ADDRESS_BITS, 16);
}

static void put_stack(uint32_t ring, uint32_t slot, uint64_t caller)
{
	PUT(ring,
	    first_word(HEAP_RECORD_STACK, 0) | (uint64_t)HEAP_END_COMPLETE << 40 | slot << 16 | 1,
	    caller);
}

static void put_raw(uint32_t ring, uint64_t after, uint64_t caller)
{
	uint64_t words[HEAP_RAW_WORDS + 1] = { first_word(HEAP_RECORD_RAW, begin + after), 8,
					       caller };

	put_words(ring, words, HEAP_RAW_WORDS + 1);
}

/* Starts a ring at a position that a program may have reached. */
static void start_at(uint32_t ring, uint64_t position)
{
	struct heap_ring *to = heap_ring_at(traced->region, ring);

	to->head = to->tail = traced->rings[ring].reader.position = traced->rings[ring].reader.end =
		position;
}

static void take_events(const struct wire_heap_events *record)
{
	struct heap_event_reader reader = heap_event_reader(record);
	size_t n = n_events;

	assert_int_equal(record->process, UPID);
	while (heap_event_next(&reader, &events[n_events]))
		assert_true(++n_events < EVENTS_MAX);
	assert_false(reader.is_damaged);
	assert_int_equal(n_events - n, record->n);
}

static void take_record(enum wire_record_id id, const void *view)
{
	switch (id) {
	case WIRE_RECORD_heap_events:
		take_events(view);
		break;
	case WIRE_RECORD_heap_lost:
		losses[n_losses++] = *(const struct wire_heap_lost *)view;
		break;
	case WIRE_RECORD_heap_stack:
		n_stacks++;
		assert_int_equal(((const struct wire_heap_stack *)view)->number,
				 n_stacks + n_samples);
		break;
	case WIRE_RECORD_heap_sample:
		n_samples++;
		break;
	default:
		break;
	}
}

/* Reads what was emitted since the last call. */
static void read_output(void)
{
	union wire_view view;
	struct wire_reader reader;
	struct wire_raw raw;

	assert_int_equal(wire_writer_flush(&stage.writer), 0);
	assert_int_equal(lseek(stage.writer.fd, 0, SEEK_SET), 0);
	assert_int_equal(wire_reader_init(&reader, stage.writer.fd), 0);
	while (!reader.at_end) {
		assert_int_equal(wire_reader_fill(&reader), 0);
		while (wire_reader_next(&reader, &raw) == WIRE_OK) {
			assert_int_equal(wire_decode(wire_type(raw.header->type), raw.header,
						     raw.header->size, WIRE_VERSION_MINOR, &view),
					 WIRE_OK);
			take_record(raw.header->type, &view);
		}
	}
	wire_reader_deinit(&reader);
	assert_int_equal(ftruncate(stage.writer.fd, 0), 0);
	assert_int_equal(lseek(stage.writer.fd, 0, SEEK_SET), 0);
}

static void drain(void)
{
	assert_int_equal(traced_drain(traced, encoder, traced->region->wanted), 0);
	read_output();
}

static void finish(void)
{
	assert_int_equal(traced_finish(traced, encoder), 0);
	read_output();
}

static void assert_addresses(const uint64_t *addresses, size_t n)
{
	assert_int_equal(n_events, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(events[i].address, addresses[i]);
}

#define ASSERT_ADDRESSES(...)                                                                      \
	assert_addresses((const uint64_t[]){ __VA_ARGS__ },                                        \
			 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static uint64_t count(const char *group, const char *name)
{
	return *counters_get(&stage.counters, group, name);
}

static void test_rings_are_merged_by_time(void **state)
{
	enum { RINGS = 7, FIRST_TID = 100 };

	srand(1);
	for (uint32_t i = 0; i < RINGS; i++)
		put_thread(i, FIRST_TID + i);
	for (uint64_t at = 0; at < EVENTS_MAX - 1; at++)
		put_freed(rand() % 100 ? rand() % RINGS : 0, at, at);
	drain();
	assert_int_equal(n_events, EVENTS_MAX - 1);
	for (size_t i = 0; i < n_events; i++) {
		assert_int_equal(events[i].address, i);
		assert_in_range(events[i].tid, FIRST_TID, FIRST_TID + RINGS - 1);
		if (i)
			assert_true(events[i].time >= events[i - 1].time);
	}
	assert_int_equal(count("events", "late"), 0);
	assert_int_equal(stage.samples_in, EVENTS_MAX - 1);
}

static void test_each_event_has_the_thread_of_its_ring(void **state)
{
	static const uint32_t tids[] = { 5, 6, 5, 7, 7, 6 };

	put_thread(3, 5);
	put_thread(1, 6);
	put_thread(HEAP_RINGS_MAX - 1, 7);
	put_freed(3, 1, 1);
	put_freed(1, 2, 2);
	put_freed(3, 3, 3);
	put_freed(HEAP_RINGS_MAX - 1, 4, 4);
	put_freed(HEAP_RINGS_MAX - 1, 5, 5);
	put_freed(1, 6, 6);
	drain();
	ASSERT_ADDRESSES(1, 2, 3, 4, 5, 6);
	for (size_t i = 0; i < n_events; i++)
		assert_int_equal(events[i].tid, tids[i]);
}

/* A record committed late gets the current output time, which never decreases. */
static void test_a_lagging_ring_is_counted_as_late(void **state)
{
	put_freed(0, 10, 1);
	put_freed(0, 30, 3);
	drain();
	put_freed(1, 20, 2);
	put_freed(0, 40, 4);
	drain();
	ASSERT_ADDRESSES(1, 3, 2, 4);
	for (size_t i = 1; i < n_events; i++)
		assert_true(events[i].time >= events[i - 1].time);
	assert_int_equal(count("events", "late"), 1);
}

/* An event after a look waits for the next look, whatever other rings have by then. */
static void test_later_events_wait_for_the_next_look(void **state)
{
	uint64_t after = time_map_now(traced->time_map.clock) - begin;
	uint64_t later = traced->time_map.clock == HEAP_CLOCK_TSC ? 200000000 : 50000000;

	put_freed(0, 1, 1);
	put_freed(0, after + later, 3);
	drain();
	ASSERT_ADDRESSES(1);
	put_freed(1, after + later / 2, 2);
	while (time_map_now(traced->time_map.clock) < begin + after + later)
		usleep(1000);
	drain();
	ASSERT_ADDRESSES(1, 2, 3);
	assert_int_equal(count("events", "late"), 0);
	assert_false(traced->is_forged);
}

static void test_a_ring_wraps_around(void **state)
{
	start_at(0, 5 * (uint64_t)HEAP_RING_WORDS - 5);
	put_freed(0, 1, 1);
	put_freed(0, 2, 2);
	PUT(0, first_word(HEAP_RECORD_SKIP, 0));
	put_freed(0, 3, 3);
	drain();
	ASSERT_ADDRESSES(1, 2, 3);
	start_at(1, HEAP_RING_WORDS - 4);
	PUT(1, first_word(HEAP_RECORD_SKIP, 0), 0, 0, 0);
	put_freed(1, 4, 4);
	drain();
	ASSERT_ADDRESSES(1, 2, 3, 4);
	assert_false(traced->is_forged);
}

static void test_words_read_may_be_overwritten(void **state)
{
	struct heap_ring *ring = heap_ring_at(traced->region, 0);

	put_freed(0, 1, 1);
	assert_int_equal(ring->tail, 0);
	drain();
	assert_int_equal(ring->tail, ring->head);
	assert_int_equal(ring->n_waits, 0);
	ring->is_waiting = 1;
	put_freed(0, 2, 2);
	drain();
	assert_int_equal(ring->n_waits, 1);
}

/* Its thread has exited; the remaining records are emitted first. */
static void test_an_ended_ring_is_released(void **state)
{
	struct heap_ring *ended = heap_ring_at(traced->region, 0),
			 *alive = heap_ring_at(traced->region, 1);

	ended->owner = NO_TID;
	alive->owner = getpid();
	put_thread(0, NO_TID);
	put_freed(0, 1, 1);
	traced_recycle(traced);
	assert_int_equal(ended->owner, NO_TID);
	drain();
	traced_recycle(traced);
	assert_int_equal(ended->owner, 0);
	assert_int_equal(alive->owner, getpid());
	put_thread(0, 44);
	put_freed(0, 2, 2);
	drain();
	ASSERT_ADDRESSES(1, 2);
	assert_int_equal(events[0].tid, NO_TID);
	assert_int_equal(events[1].tid, 44);
}

static void assert_forged(size_t n)
{
	assert_true(traced->is_forged);
	assert_int_equal(n_losses, n);
	assert_int_equal(losses[n - 1].flags, WIRE_heap_lost_flags_FORGED);
	assert_int_equal(losses[n - 1].n_calls, 1);
}

static void test_a_damaged_ring_is_read_no_further(void **state)
{
	put_freed(0, 1, 1);
	PUT(0, first_word(15, begin + 3), 0);
	put_freed(0, 5, 5);
	put_freed(1, 2, 2);
	put_freed(1, 6, 6);
	drain();
	ASSERT_ADDRESSES(1, 2, 6);
	assert_forged(1);
	put_freed(0, 7, 7);
	put_freed(1, 8, 8);
	drain();
	ASSERT_ADDRESSES(1, 2, 6, 8);
	assert_int_equal(n_losses, 1); /* reported once */
	finish();
	assert_int_equal(count("refused", "damaged-rings"), 1);
	assert_int_equal(n_losses, 1);
}

static void break_ring(const uint64_t *words, size_t n)
{
	put_words(0, words, n);
	put_freed(0, 1, 1);
	put_freed(1, 2, 2);
	drain();
	ASSERT_ADDRESSES(2);
	assert_forged(1);
}

#define BREAK(...)                                                                                 \
	do {                                                                                       \
		tear_down(state);                                                                  \
		set_up(state);                                                                     \
		break_ring((const uint64_t[]){ __VA_ARGS__ },                                      \
			   sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t));          \
	} while (0)

static void test_impossible_records_break_a_ring(void **state)
{
	BREAK(first_word(0, begin), 0);
	BREAK(first_word(HEAP_RECORD_ALLOCATED, begin), (HEAP_SLOT_RAW + 1ULL) << 48, 1);
	BREAK(first_word(HEAP_RECORD_ALLOCATED, begin), 1, HEAP_SIZE_MAX + 1);
	BREAK(first_word(HEAP_RECORD_STACK, 0)); /* no frames */
	BREAK(first_word(HEAP_RECORD_STACK, 0) | (HEAP_FRAMES_MAX + 1));
	BREAK(first_word(HEAP_RECORD_STACK, 0) | (uint64_t)HEAP_SLOTS << 16 | 1, 1);
	BREAK(first_word(HEAP_RECORD_STACK, 0) | 100, 1); /* more frames than words committed */
	BREAK(first_word(HEAP_RECORD_RAW, begin), HEAP_RAW_BYTES_MAX + 8, 1, 1, 1, 1, 1, 1, 1, 1,
	      1);
	BREAK(first_word(HEAP_RECORD_LOST, 0), HEAP_LOST_MAX + 1, 0, 0, 0);
	BREAK(first_word(HEAP_RECORD_SAMPLING, 0), 4711);
	BREAK(first_word(HEAP_RECORD_SKIP, 0)); /* it would end past the committed words */
}

static void test_a_ring_goes_neither_back_nor_ahead(void **state)
{
	put_freed(0, 1, 1);
	put_freed(1, 2, 2);
	put_freed(2, 3, 3);
	drain();
	heap_ring_at(traced->region, 0)->head = 1;
	heap_ring_at(traced->region, 1)->head += HEAP_RING_WORDS + 1;
	put_freed(2, 4, 4);
	drain();
	ASSERT_ADDRESSES(1, 2, 3, 4);
	assert_forged(1);
	finish();
	assert_int_equal(count("refused", "damaged-rings"), 2);
}

static void test_no_record_goes_over_the_end_of_a_ring(void **state)
{
	start_at(0, HEAP_RING_WORDS - 1);
	put_freed(0, 1, 1);
	put_freed(1, 2, 2);
	drain();
	ASSERT_ADDRESSES(2);
	assert_forged(1);
}

static void test_future_times_are_forged(void **state)
{
	uint64_t after = time_map_now(traced->time_map.clock) - begin;

	put_freed(0, after + (1ULL << 50), 1);
	put_freed(1, 2, 2);
	drain();
	assert_false(traced->is_forged); /* its time may still come */
	drain();
	ASSERT_ADDRESSES(2);
	assert_forged(1);
}

static void test_future_times_at_the_end_are_forged(void **state)
{
	put_freed(0, time_map_now(traced->time_map.clock) - begin + (1ULL << 50), 1);
	finish();
	assert_forged(1);
}

static void test_a_stack_is_emitted_once(void **state)
{
	put_stack(0, 5, 0x1000);
	put_allocated(0, 1, 1, 5);
	put_allocated(0, 2, 2, 5);
	put_stack(0, 5, 0x2000); /* the slot is reused */
	put_allocated(0, 4, 4, 5);
	put_stack(1, 5, 0x1000); /* slots are per ring */
	put_allocated(1, 3, 3, 5);
	drain();
	ASSERT_ADDRESSES(1, 2, 3, 4);
	assert_int_equal(n_stacks, 2);
	assert_int_equal(events[0].stack, events[1].stack);
	assert_int_equal(events[0].stack, events[2].stack);
	assert_int_not_equal(events[0].stack, events[3].stack);
	assert_int_equal(events[0].size, 16);
}

/* Its code may have been mapped after the last look. */
static void test_a_raw_stack_waits_for_a_look(void **state)
{
	heap_encoder_note_look(encoder, &traced->process, 0);
	put_freed(0, 1, 1);
	put_raw(0, 2, 0x1000);
	put_allocated(0, 3, 3, HEAP_SLOT_RAW);
	put_freed(1, 2, 2);
	traced->region->wanted = 7;
	assert_true(traced_is_due(traced));
	assert_int_equal(traced_drain(traced, encoder, 6), -EAGAIN);
	read_output();
	ASSERT_ADDRESSES(1, 2);
	assert_int_equal(n_samples, 0);
	assert_int_equal(traced_drain(traced, encoder, 7), 0);
	read_output();
	ASSERT_ADDRESSES(1, 2, 3);
	assert_int_equal(n_samples, 1);
	assert_int_equal(events[2].stack, 1);
	assert_false(traced_is_due(traced));
}

static void test_losses_are_emitted_where_they_happened(void **state)
{
	struct heap_ring *ring = heap_ring_at(traced->region, 0);

	ring->lost = (struct heap_lost){ 3, 2, 300, 5000000 };
	put_thread(0, 5);
	put_freed(0, 1, 1);
	PUT(0, first_word(HEAP_RECORD_LOST, 0), 3, 2, 300, 5000000);
	put_freed(0, 2, 2);
	drain();
	assert_int_equal(n_losses, 1);
	assert_int_equal(losses[0].tid, 5);
	assert_int_equal(losses[0].n_allocated, 3);
	assert_int_equal(losses[0].n_freed, 2);
	assert_int_equal(losses[0].n_bytes, 300);
	assert_int_equal(losses[0].time, events[0].time);
	assert_int_equal(count("dropped", "ring-full"), 5);
	assert_int_equal(count("heap", "blocked-ms"), 5);
	finish();
	assert_int_equal(n_losses, 1);
}

/* The ring was full until the end, so no record reported the losses. */
static void test_unreported_losses_are_emitted_at_the_end(void **state)
{
	struct heap_ring *ring = heap_ring_at(traced->region, 0);

	PUT(0, first_word(HEAP_RECORD_LOST, 0), 3, 2, 300, 0);
	ring->lost = (struct heap_lost){ 4, 2, 316, 0 };
	finish();
	assert_int_equal(n_losses, 2);
	assert_int_equal(losses[1].n_allocated, 1);
	assert_int_equal(losses[1].n_freed, 0);
	assert_int_equal(losses[1].n_bytes, 16);
	assert_false(traced->is_forged);
	assert_int_equal(count("dropped", "ring-full"), 6);
}

static void test_fewer_losses_than_emitted_are_forged(void **state)
{
	PUT(0, first_word(HEAP_RECORD_LOST, 0), 3, 2, 300, 0);
	heap_ring_at(traced->region, 0)->lost = (struct heap_lost){ 2, 2, 300, 0 };
	finish();
	assert_forged(2);
}

static void test_calls_without_a_record_are_counted(void **state)
{
	put_freed(0, 1, 1);
	traced->region->n_unrecorded = 2;
	heap_ring_at(traced->region, 0)->n_nested = 3;
	drain();
	drain();
	assert_int_equal(n_losses, 1);
	assert_int_equal(losses[0].n_calls, 5);
	traced->region->n_unrecorded = 1; /* the counter must not decrease */
	drain();
	assert_forged(2);
}

/* Each full third wakes the reader; three quarters full make samples rarer. */
static void fill_three_quarters(uint64_t sampling)
{
	for (uint32_t i = 0; i < HEAP_RING_WORDS / 4 * 3; i += HEAP_SAMPLING_WORDS)
		PUT(0, first_word(HEAP_RECORD_SAMPLING, 0), sampling);
	put_freed(0, 1, 1);
}

static void test_samples_get_rarer_as_rings_fill(void **state)
{
	traced_free(traced);
	make_traced((struct traced_policy){ .when_full = HEAP_ADAPT, .sampling = 4096 });
	while (heap_ring_at(traced->region, 0)->head < HEAP_RING_DUE)
		PUT(0, first_word(HEAP_RECORD_SAMPLING, 0), 4096);
	assert_true(traced_is_due(traced));
	drain();
	assert_false(traced_is_due(traced));
	assert_int_equal(traced->region->sampling, 4096);
	fill_three_quarters(4096);
	drain();
	assert_int_equal(traced->region->sampling, 8192);
	/* Records in the ring are older than the change. */
	fill_three_quarters(4096);
	drain();
	assert_int_equal(traced->region->sampling, 8192);
	PUT(0, first_word(HEAP_RECORD_SAMPLING, 0), 8192);
	drain();
	fill_three_quarters(8192);
	drain();
	assert_int_equal(traced->region->sampling, 16384);
	assert_false(traced->is_forged);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_rings_are_merged_by_time),
		TEST(test_each_event_has_the_thread_of_its_ring),
		TEST(test_a_lagging_ring_is_counted_as_late),
		TEST(test_later_events_wait_for_the_next_look),
		TEST(test_a_ring_wraps_around),
		TEST(test_words_read_may_be_overwritten),
		TEST(test_an_ended_ring_is_released),
		TEST(test_a_damaged_ring_is_read_no_further),
		TEST(test_impossible_records_break_a_ring),
		TEST(test_a_ring_goes_neither_back_nor_ahead),
		TEST(test_no_record_goes_over_the_end_of_a_ring),
		TEST(test_future_times_are_forged),
		TEST(test_future_times_at_the_end_are_forged),
		TEST(test_a_stack_is_emitted_once),
		TEST(test_a_raw_stack_waits_for_a_look),
		TEST(test_losses_are_emitted_where_they_happened),
		TEST(test_unreported_losses_are_emitted_at_the_end),
		TEST(test_fewer_losses_than_emitted_are_forged),
		TEST(test_calls_without_a_record_are_counted),
		TEST(test_samples_get_rarer_as_rings_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
