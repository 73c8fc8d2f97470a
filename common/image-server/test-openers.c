/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/image-server/openers.h"
#include "common/image-server/test-hanging.h"

static struct openers *openers; /* never freed, because its threads live on */

static int set_up(void **state)
{
	openers = malloc(sizeof(*openers));
	return openers ? openers_init(openers) : -1;
}

static bool add_file_of(uint64_t image, uid_t user)
{
	const struct wire_image_open request = { .image = image, .path = wire_string("/x", 4096) };
	struct opening *opening = opening_new_file(&request, user);

	assert_non_null(opening);
	return openers_add(openers, opening);
}

/* Each file belongs to a different user. */
static void add_file(uint64_t image)
{
	assert_true(add_file_of(image, image));
}

static struct opening *wait_for_done(void)
{
	struct pollfd done = { openers->done_fds[0], POLLIN, 0 };

	assert_int_equal(poll(&done, 1, 20000), 1);
	return openers_take_done(openers);
}

static void check_done(uint64_t image)
{
	struct opening *opening = wait_for_done();

	assert_non_null(opening);
	assert_int_equal(opening->image, image);
	assert_int_equal(opening->file.status, WIRE_image_status_OPEN);
	assert_true(opening->file.fd >= 0);
	opening_free(opening);
}

/* Times out all openings by a clock that is a second ahead; returns the first such image, or 0. */
static uint64_t give_up(void)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC) + NANOSECONDS_A_SECOND;
	struct opening_given_up given_up;

	return openers_give_up_slow(openers, now, &given_up) ? given_up.image : 0;
}

static void test_requested_files_are_opened(void **state)
{
	bool seen[100] = { false };
	struct opening *opening;
	struct opening_given_up given_up;

	assert_null(openers_take_done(openers));
	for (uint64_t i = 1; i < 100; i++)
		add_file(i);
	for (uint64_t i = 1; i < 100; i++) {
		opening = wait_for_done();
		assert_true(opening->image < 100 && !seen[opening->image]);
		seen[opening->image] = true;
		assert_true(opening->file.fd >= 0);
		opening_free(opening);
	}
	assert_null(openers_take_done(openers));
	assert_int_equal(give_up(), 0);
	assert_true(openers->n_threads <= OPENERS_AT_ONCE);
	opening = opening_new_map(7, &(struct map_process){ .pid = 1, .root_fd = -1 }, 1);
	assert_true(openers_add(openers, opening));
	opening = wait_for_done();
	assert_true(opening->process.root_fd >= 0);
	assert_int_equal(opening->image, 7);
	assert_int_equal(opening->file.status, WIRE_image_status_GONE);
	assert_false(openers_give_up_slow(openers, UINT64_MAX, &given_up));
	opening_free(opening);
}

static void test_a_hanging_open_times_out_and_finishes_later(void **state)
{
	struct opening_given_up given_up;
	struct opening *opening;

	file_system_answers(false);
	add_file(HANGS);
	wait_for_hanging(1);
	add_file(1);
	check_done(1); /* nothing timed out */
	assert_false(openers_give_up_slow(openers, clock_now(CLOCK_MONOTONIC), &given_up));
	assert_true(openers_give_up_slow(openers, UINT64_MAX, &given_up));
	assert_int_equal(given_up.image, HANGS);
	assert_true(given_up.is_stuck);
	add_file(2);
	check_done(2);
	assert_int_equal(give_up(), 0);
	assert_int_equal(openers->n_threads, 2);
	file_system_answers(true);
	opening = wait_for_done();
	assert_int_equal(opening->image, HANGS);
	assert_int_equal(opening->state, OPENING_GIVEN_UP);
	assert_null(openers->stuck);
	opening_free(opening);
	assert_int_equal(give_up(), 0);
}

/* Hanging files of one user occupy few threads and do not delay other users. */
static void test_one_users_hanging_files_delay_no_other(void **state)
{
	enum { USER = 1, OTHER = 2, MORE = 100 };
	struct opening_given_up given_up;

	file_system_answers(false);
	for (uint64_t i = 0; i < MORE; i++)
		assert_true(add_file_of(HANGS + i, USER));
	wait_for_hanging(OPENERS_OF_USER_MAX);
	for (uint64_t i = 1; i < 100; i++) {
		assert_true(add_file_of(i, OTHER));
		check_done(i);
	}
	for (size_t i = 0; i < MORE; i++) { /* those in the queue got no thread */
		assert_true(openers_give_up_slow(openers, UINT64_MAX, &given_up));
		assert_int_equal(given_up.image, HANGS + i);
		assert_int_equal(given_up.is_stuck, i < OPENERS_OF_USER_MAX);
	}
	assert_false(add_file_of(HANGS + MORE, USER)); /* this user's files are no longer tried */
	assert_true(add_file_of(1, OTHER));
	check_done(1);
	file_system_answers(true);
	for (size_t i = 0; i < OPENERS_OF_USER_MAX; i++)
		opening_free(wait_for_done());
	assert_true(add_file_of(1, USER));
	check_done(1);
}

/* What a client waits for goes before what the user mapped earlier. */
static void test_urgent_openings_go_first(void **state)
{
	enum { USER = 1, WAITING = 100, URGENT = HANGS + 200 };
	const struct wire_image_open request = { .image = URGENT, .path = wire_string("/x", 4096) };
	struct opening *urgent = opening_new_file(&request, USER);

	file_system_answers(false);
	for (uint64_t i = 0; i < OPENERS_OF_USER_MAX; i++)
		assert_true(add_file_of(HANGS + i, USER));
	wait_for_hanging(OPENERS_OF_USER_MAX);
	for (uint64_t i = 1; i <= WAITING; i++)
		assert_true(add_file_of(i, USER));
	assert_true(openers_add(openers, urgent));
	openers_hurry(openers, urgent);
	openers_hurry(openers, urgent);
	file_system_answers_once();
	opening_free(wait_for_done());
	wait_for_hanging(
		OPENERS_OF_USER_MAX); /* the files that wait do not hang; the urgent one does */
	assert_int_equal(openers->n_waiting, WAITING);
	file_system_answers(true);
	for (size_t i = 1; i < OPENERS_OF_USER_MAX + WAITING + 1; i++)
		opening_free(wait_for_done());
	assert_null(openers->users);
}

static void test_queued_openings_time_out_if_all_threads_hang(void **state)
{
	file_system_answers(false);
	for (size_t i = 0; i < OPENERS_MAX; i++) {
		add_file(HANGS + i);
		wait_for_hanging(i + 1);
		assert_int_equal(give_up(), HANGS + i);
	}
	assert_int_equal(openers->n_threads, OPENERS_MAX);
	for (size_t i = OPENERS_MAX; i < OPENERS_MAX + 2; i++)
		add_file(HANGS + i);
	for (size_t i = OPENERS_MAX; i < OPENERS_MAX + 2; i++)
		assert_int_equal(give_up(), HANGS + i);
	assert_int_equal(give_up(), 0);
	assert_int_equal(openers->n_threads, OPENERS_MAX);
	file_system_answers(true);
	for (size_t i = 0; i < OPENERS_MAX; i++)
		opening_free(wait_for_done());
	assert_null(openers_take_done(openers));
	add_file(1);
	check_done(1);
}

static void test_freeing_an_opening_closes_its_files(void **state)
{
	const struct wire_image_open request = { .image = 1, .path = wire_string("/x", 4096) };
	struct map_process process = { .pid = 1, .root_fd = open_something() };
	struct opening *opening = opening_new_map(1, &process, 1);
	int before = process.root_fd, after;

	assert_non_null(opening);
	opening_free(opening);
	opening = opening_new_file(&request, 1);
	opening->file.fd = open_something();
	opening_free(opening);
	after = open_something();
	close(after);
	assert_int_equal(after, before);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup(function, set_up)
	const struct CMUnitTest tests[] = {
		TEST(test_requested_files_are_opened),
		TEST(test_a_hanging_open_times_out_and_finishes_later),
		TEST(test_one_users_hanging_files_delay_no_other),
		TEST(test_urgent_openings_go_first),
		TEST(test_queued_openings_time_out_if_all_threads_hang),
		TEST(test_freeing_an_opening_closes_its_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
