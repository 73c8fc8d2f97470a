/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "live-unwinder/walk/last-walk.h"

enum { FRAME_SIZE = 32, TID = 4711 };

static struct last_walk *walks;
static struct passed_walk *passed;
static struct wire_frame frames[LAST_WALK_FRAMES_MAX];

static int set_up(void **state)
{
	walks = calloc(LAST_WALKS_THREADS, sizeof(*walks));
	passed = calloc(1, sizeof(*passed));
	return walks && passed ? 0 : -1;
}

static int tear_down(void **state)
{
	free(walks);
	free(passed);
	return 0;
}

static struct last_walk *get_last(void)
{
	return &walks[TID & (LAST_WALKS_THREADS - 1)];
}

static uint64_t pc_of(uint32_t i)
{
	return 0x1000 + i;
}

static uint64_t sp_of(uint32_t i)
{
	return 0x7000 + (uint64_t)i * FRAME_SIZE;
}

/* A frame is left by so many words. */
static void pass(uint32_t i, uint32_t n_words)
{
	frames[passed->n].address = pc_of(i);
	passed_walk_add_place(passed, sp_of(i), sp_of(i) + 1, true);
	for (uint32_t k = 0; k < n_words; k++)
		passed_walk_add_word(passed, sp_of(i) + k, i * 100ULL + k);
}

/* A walk from one frame to another one, which is the outermost, or one of the last walk. */
static void keep(uint32_t from, uint32_t to, uint32_t n_words, uint32_t last_from)
{
	passed_walk_begin(passed);
	for (uint32_t i = from; i <= to; i++)
		pass(i, n_words);
	assert_false(passed->is_other);
	last_walk_keep(get_last(), passed, frames, last_from);
}

/* Frames from `i` to `to` are the first ones, of so many words each. Returns where the last one is.
 */
static uint32_t check_first(uint32_t first, uint32_t i, uint32_t to, uint32_t n_words)
{
	const struct last_walk *last = get_last();
	uint32_t at = last->first;

	assert_int_equal(last->first, first);
	for (; i <= to; i++) {
		assert_true(last_walk_has(last, &at, pc_of(i), sp_of(i), sp_of(i) + 1));
		for (uint32_t k = 0; k < n_words; k++) {
			uint32_t word = last->places[at].words_at + k;

			assert_int_equal(last->words[word].address, sp_of(i) + k);
			assert_int_equal(last->words[word].value, i * 100 + k);
			assert_int_equal(last_walk_frame_of(last, word), at);
		}
	}
	return at;
}

/* The same, and there are no others. */
static void check(uint32_t first, uint32_t i, uint32_t to, uint32_t n_words)
{
	uint32_t at = check_first(first, i, to, n_words);

	assert_int_equal(at, LAST_WALK_FRAMES_MAX - 1);
	assert_int_equal(get_last()->places[at].words_at + n_words, LAST_WALK_WORDS_MAX);
}

static void test_frames_and_words_are_kept(void **state)
{
	keep(5, 14, 2, LAST_WALK_FRAMES_MAX);
	check(LAST_WALK_FRAMES_MAX - 10, 5, 14, 2);
	keep(3, 4, 3, LAST_WALK_FRAMES_MAX);
	check(LAST_WALK_FRAMES_MAX - 2, 3, 4, 3);
	keep(7, 7, 0, LAST_WALK_FRAMES_MAX);
	check(LAST_WALK_FRAMES_MAX - 1, 7, 7, 0);
}

static void test_outer_frames_stay(void **state)
{
	keep(5, 14, 2, LAST_WALK_FRAMES_MAX);
	/* The frames from 10 on are met again, below others. */
	keep(8, 9, 2, LAST_WALK_FRAMES_MAX - 5);
	check(LAST_WALK_FRAMES_MAX - 7, 8, 14, 2);
	/* Nothing is new but the sampled frame, which is not plain. */
	passed_walk_begin(passed);
	passed_walk_add_place(passed, sp_of(7), 0, false);
	last_walk_keep(get_last(), passed, frames, LAST_WALK_FRAMES_MAX - 7);
	check(LAST_WALK_FRAMES_MAX - 8, 8, 14, 2);
}

static void test_innermost_frames_are_left_out_without_room(void **state)
{
	keep(100, 100 + LAST_WALK_FRAMES_MAX - 1, 1, LAST_WALK_FRAMES_MAX);
	check(0, 100, 100 + LAST_WALK_FRAMES_MAX - 1, 1);
	keep(90, 104, 1, 5);
	check(0, 100, 100 + LAST_WALK_FRAMES_MAX - 1, 1);
	keep(60, 99, 1, 0); /* all are met again */
	check(0, 100, 100 + LAST_WALK_FRAMES_MAX - 1, 1);
}

static void test_frames_whose_words_have_no_room_are_left_out(void **state)
{
	enum { EACH = 40, N = LAST_WALK_WORDS_MAX / EACH };

	keep(100, 100 + N - 1, EACH, LAST_WALK_FRAMES_MAX);
	keep(90, 99, EACH, LAST_WALK_FRAMES_MAX - N + 3);
	check_first(LAST_WALK_FRAMES_MAX - N, 97, 99, EACH);
}

static void test_walks_beyond_the_limits_are_others(void **state)
{
	passed_walk_begin(passed);
	for (uint32_t i = 0; i < LAST_WALK_FRAMES_MAX; i++)
		passed_walk_add_place(passed, i, 0, true);
	assert_false(passed->is_other);
	passed_walk_add_place(passed, 0, 0, true);
	assert_true(passed->is_other);
	passed_walk_begin(passed);
	for (uint32_t i = 0; i < LAST_WALK_WORDS_MAX; i++)
		passed_walk_add_word(passed, i, 0);
	assert_false(passed->is_other);
	passed_walk_add_word(passed, 0, 0);
	assert_true(passed->is_other);
}

static void test_only_the_same_frame_is_met(void **state)
{
	struct last_walk *last = get_last();
	uint32_t at;

	keep(5, 14, 2, LAST_WALK_FRAMES_MAX);
	at = last->first;
	assert_false(last_walk_has(last, &at, pc_of(7), sp_of(6), sp_of(6) + 1));
	assert_false(last_walk_has(last, &at, pc_of(6), sp_of(6), sp_of(6)));
	assert_false(last_walk_has(last, &at, pc_of(6), sp_of(6) + 8, sp_of(6) + 1));
	assert_true(last_walk_has(last, &at, pc_of(8), sp_of(8), sp_of(8) + 1));
	last->places[at].is_plain = false;
	assert_false(last_walk_has(last, &at, pc_of(8), sp_of(8), sp_of(8) + 1));
	assert_false(last_walk_has(last, &at, pc_of(20), sp_of(20), sp_of(20) + 1));
	assert_int_equal(at, LAST_WALK_FRAMES_MAX);
	assert_false(last_walk_has(last, &at, pc_of(8), sp_of(8), sp_of(8) + 1));
}

static void test_only_a_walk_of_the_same_thread_is_found(void **state)
{
	const struct walk_basis basis = { .version = 7, .tables = 3, .tid = TID };
	struct walk_basis other = basis;

	assert_null(last_walk_find(walks, &basis, 100));
	get_last()->basis = basis;
	get_last()->time = 100;
	assert_ptr_equal(last_walk_find(walks, &basis, 100), get_last());
	assert_ptr_equal(last_walk_find(walks, &basis, 200), get_last());
	assert_null(last_walk_find(walks, &basis, 99));
	other.version = 8;
	assert_null(last_walk_find(walks, &other, 100));
	other = basis;
	other.tables = 4;
	assert_null(last_walk_find(walks, &other, 100));
	other = basis;
	other.tid += LAST_WALKS_THREADS;
	assert_null(last_walk_find(walks, &other, 100));
	other = basis;
	other.version = get_last()->basis.version = 0; /* nothing is to be kept */
	assert_null(last_walk_find(walks, &other, 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_frames_and_words_are_kept),
		TEST(test_outer_frames_stay),
		TEST(test_innermost_frames_are_left_out_without_room),
		TEST(test_frames_whose_words_have_no_room_are_left_out),
		TEST(test_walks_beyond_the_limits_are_others),
		TEST(test_only_the_same_frame_is_met),
		TEST(test_only_a_walk_of_the_same_thread_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
