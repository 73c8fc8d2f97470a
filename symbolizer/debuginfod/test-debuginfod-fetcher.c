/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage's side; the test plays the debuginfod process and sends any answer. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbolizer/debuginfod/debuginfod-fetcher.h"

static struct debuginfod_fetcher fetcher;
static int process_fd;

static int set_up(void **state)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -1;
	fetcher = (struct debuginfod_fetcher){ .fd = pair[0] };
	process_fd = pair[1];
	return 0;
}

static int tear_down(void **state)
{
	debuginfod_fetcher_stop(&fetcher);
	if (process_fd >= 0)
		close(process_fd);
	return 0;
}

/* Build-ids are four-byte numbers here. */
static int ask(uint32_t id)
{
	return debuginfod_fetcher_ask(&fetcher, &id, sizeof(id));
}

/* The next build-id requested from the process; 0: none. */
static uint32_t asked(struct debuginfod_request *ret)
{
	uint32_t id;

	if (recv(process_fd, ret, sizeof(*ret), MSG_DONTWAIT) < 0)
		return 0;
	assert_int_equal(ret->size, sizeof(id));
	memcpy(&id, ret->build_id, sizeof(id));
	return id;
}

static void answer(uint32_t number, uint32_t outcome)
{
	const struct debuginfod_answer message = { number, outcome };

	assert_int_equal(send(process_fd, &message, sizeof(message), 0), sizeof(message));
}

static uint32_t reported_id; /* build-id of the last poll() */

static int reported(void)
{
	struct debuginfod_build_id id = { 0 };
	int r = debuginfod_fetcher_poll(&fetcher, &id);

	memcpy(&reported_id, id.bytes, sizeof(reported_id));
	if (r > 0)
		assert_int_equal(id.size, sizeof(reported_id));
	return r;
}

static void test_an_outcome_is_reported_once(void **state)
{
	struct debuginfod_request request;

	assert_int_equal(reported(), 0);
	for (int outcome = DEBUGINFOD_ARRIVED; outcome < N_DEBUGINFOD_OUTCOMES; outcome++) {
		assert_int_equal(ask(outcome), 0);
		assert_int_equal(reported(), 0);
		assert_int_equal(asked(&request), outcome);
		answer(request.number, outcome);
		assert_int_equal(reported(), outcome);
		assert_int_equal(reported_id, outcome);
		assert_int_equal(reported(), 0);
	}
}

static void test_a_repeated_request_is_fetched_once(void **state)
{
	struct debuginfod_request request;

	for (int i = 0; i < 3; i++)
		assert_int_equal(ask(7), 0);
	assert_int_equal(asked(&request), 7);
	assert_int_equal(asked(&request), 0);
	answer(request.number, DEBUGINFOD_NOT_FOUND);
	assert_int_equal(reported(), DEBUGINFOD_NOT_FOUND);
	assert_int_equal(ask(7), 0); /* known to be missing */
	assert_int_equal(asked(&request), 0);
	assert_int_equal(reported(), 0);
}

static void test_a_build_id_is_more_than_its_beginning(void **state)
{
	static const uint8_t bytes[WIRE_BUILD_ID_MAX] = { 0 };
	struct debuginfod_request request;

	assert_int_equal(debuginfod_fetcher_ask(&fetcher, bytes, 1), 0);
	assert_int_equal(debuginfod_fetcher_ask(&fetcher, bytes, 20), 0);
	assert_int_equal(debuginfod_fetcher_ask(&fetcher, bytes, WIRE_BUILD_ID_MAX), 0);
	assert_int_equal(recv(process_fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(request.size, 1);
	assert_int_equal(recv(process_fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(request.size, 20);
	assert_int_equal(recv(process_fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(request.size, WIRE_BUILD_ID_MAX);
}

static void test_a_build_id_has_limits(void **state)
{
	static const uint8_t bytes[WIRE_BUILD_ID_MAX + 1] = { 0 };
	struct debuginfod_request request;

	assert_int_equal(debuginfod_fetcher_ask(&fetcher, bytes, 0), -EINVAL);
	assert_int_equal(debuginfod_fetcher_ask(&fetcher, bytes, sizeof(bytes)), -EINVAL);
	assert_int_equal(asked(&request), 0);
	assert_int_equal(fetcher.n_refused, 0);
}

/* Fills all slots in flight; returns the numbers of the requests. */
static void fill(uint32_t numbers[DEBUGINFOD_IN_FLIGHT_MAX])
{
	for (uint32_t i = 0; i < DEBUGINFOD_IN_FLIGHT_MAX; i++) {
		struct debuginfod_request request;

		assert_int_equal(ask(1000 + i), 0);
		assert_int_equal(asked(&request), 1000 + i);
		numbers[i] = request.number;
	}
}

static void test_the_most_requested_file_goes_first(void **state)
{
	static const uint32_t asks[] = { 1, 2, 3, 2, 3, 4, 3, 5, 4 };
	static const uint32_t order[] = { 3, 2, 4, 1, 5 }; /* the first of equals first */
	uint32_t numbers[DEBUGINFOD_IN_FLIGHT_MAX];
	struct debuginfod_request request;

	fill(numbers);
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		assert_int_equal(ask(asks[i]), 0);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		assert_int_equal(asked(&request), 0); /* all slots are in flight */
		answer(numbers[i], DEBUGINFOD_ARRIVED);
		assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
		assert_int_equal(reported_id, 1000 + i);
		assert_int_equal(asked(&request), order[i]);
	}
}

static void test_answers_come_in_any_order(void **state)
{
	uint32_t numbers[DEBUGINFOD_IN_FLIGHT_MAX];

	fill(numbers);
	for (int i = DEBUGINFOD_IN_FLIGHT_MAX; i-- > 0;)
		answer(numbers[i], DEBUGINFOD_ARRIVED);
	for (int i = DEBUGINFOD_IN_FLIGHT_MAX; i-- > 0;) {
		assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
		assert_int_equal(reported_id, 1000 + i);
	}
	assert_int_equal(reported(), 0);
}

static void test_more_than_the_limit_is_refused_and_counted(void **state)
{
	struct debuginfod_request request;

	for (uint32_t i = 1; i <= DEBUGINFOD_KNOWN_MAX; i++)
		assert_int_equal(ask(i), 0);
	assert_int_equal(ask(100000), -ENOSPC);
	assert_int_equal(ask(100001), -ENOSPC);
	assert_int_equal(fetcher.n_refused, 2);
	assert_int_equal(ask(1), 0); /* already known */
	assert_int_equal(asked(&request), 1);
	answer(request.number, DEBUGINFOD_ARRIVED);
	assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
	assert_int_equal(ask(100000), 0); /* replaces a finished one */
	assert_int_equal(ask(100001), -ENOSPC);
	assert_int_equal(fetcher.n_refused, 3);
}

/* The process is abandoned: this is reported once, and each of its requests fails once. */
static void check_given_up(int error, uint32_t n_asked)
{
	uint64_t seen = 0;

	assert_int_equal(reported(), error);
	for (uint32_t i = 1; i <= n_asked; i++) {
		assert_int_equal(reported(), DEBUGINFOD_FAILED);
		assert_in_range(reported_id, 1, n_asked);
		seen |= 1ULL << reported_id;
	}
	assert_int_equal(seen, (2ULL << n_asked) - 2);
	assert_int_equal(reported(), 0);
	assert_int_equal(ask(1), -ENOTCONN);
	assert_int_equal(ask(1000), -ENOTCONN);
	assert_int_equal(fetcher.fd, -1);
}

static void test_a_process_that_ends_has_failed(void **state)
{
	enum { N = DEBUGINFOD_IN_FLIGHT_MAX + 5 };

	for (uint32_t i = 1; i <= N; i++)
		assert_int_equal(ask(i), 0);
	close(process_fd);
	process_fd = -1;
	check_given_up(-EPIPE, N);
}

static void test_answers_before_the_end_count(void **state)
{
	struct debuginfod_request request;

	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(ask(i), 0);
	assert_int_equal(asked(&request), 1);
	answer(request.number, DEBUGINFOD_ARRIVED);
	close(process_fd); /* unread requests make close(2) reset the connection */
	process_fd = -1;
	assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
	assert_int_equal(reported_id, 1);
	assert_int_equal(reported(), -EPIPE);
	assert_int_equal(reported(), DEBUGINFOD_FAILED);
	assert_int_equal(reported(), DEBUGINFOD_FAILED);
	assert_int_equal(reported(), 0);
}

static void test_a_missing_library_is_reported(void **state)
{
	assert_int_equal(ask(1), 0);
	answer(0, DEBUGINFOD_NO_LIBRARY);
	close(process_fd);
	process_fd = -1;
	check_given_up(-ENOPKG, 1);
	assert_non_null(strstr(debuginfod_fetcher_explain(-ENOPKG), "install libdebuginfod1"));
}

static void check_garbage(const void *message, size_t size)
{
	for (uint32_t i = 1; i <= 2; i++)
		assert_int_equal(ask(i), 0);
	assert_int_equal(send(process_fd, message, size, 0), size);
	check_given_up(-EBADMSG, 2);
	tear_down(NULL);
	assert_int_equal(set_up(NULL), 0);
}

static void test_garbage_ends_the_connection(void **state)
{
	static const struct debuginfod_answer answers[] = {
		{ 0, 0 },
		{ 0, N_DEBUGINFOD_OUTCOMES },
		{ 0, UINT32_MAX },
		{ 2, DEBUGINFOD_ARRIVED }, /* never requested */
		{ DEBUGINFOD_IN_FLIGHT_MAX, DEBUGINFOD_ARRIVED },
		{ UINT32_MAX, DEBUGINFOD_ARRIVED },
	};
	static const char bytes[4096] = { 0, 0, 0, 0, DEBUGINFOD_ARRIVED };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		check_garbage(&answers[i], sizeof(answers[i]));
	check_garbage(bytes, 1);
	check_garbage(bytes, sizeof(answers[0]) - 1);
	check_garbage(bytes, sizeof(answers[0]) + 1);
	check_garbage(bytes, sizeof(bytes));
}

static void test_an_answer_counts_once(void **state)
{
	struct debuginfod_request request;

	assert_int_equal(ask(1), 0);
	assert_int_equal(ask(2), 0);
	assert_int_equal(asked(&request), 1);
	answer(request.number, DEBUGINFOD_ARRIVED);
	answer(request.number, DEBUGINFOD_ARRIVED);
	assert_int_equal(reported(), DEBUGINFOD_ARRIVED);
	assert_int_equal(reported(), -EBADMSG);
	assert_int_equal(reported(), DEBUGINFOD_FAILED);
	assert_int_equal(reported_id, 2);
	assert_int_equal(reported(), 0);
}

static void test_every_outcome_has_a_name(void **state)
{
	for (int outcome = DEBUGINFOD_ARRIVED; outcome < N_DEBUGINFOD_OUTCOMES; outcome++)
		assert_non_null(debuginfod_outcome_name(outcome));
	assert_string_equal(debuginfod_outcome_name(DEBUGINFOD_NOT_FOUND), "not-found");
}

static void test_after_the_stop_there_is_nothing(void **state)
{
	assert_int_equal(ask(1), 0);
	debuginfod_fetcher_stop(&fetcher);
	assert_int_equal(ask(1), -ENOTCONN);
	assert_int_equal(reported(), 0);
	debuginfod_fetcher_stop(&fetcher);
}

#define with_process(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_process(test_an_outcome_is_reported_once),
		with_process(test_a_repeated_request_is_fetched_once),
		with_process(test_a_build_id_is_more_than_its_beginning),
		with_process(test_a_build_id_has_limits),
		with_process(test_the_most_requested_file_goes_first),
		with_process(test_answers_come_in_any_order),
		with_process(test_more_than_the_limit_is_refused_and_counted),
		with_process(test_a_process_that_ends_has_failed),
		with_process(test_answers_before_the_end_count),
		with_process(test_a_missing_library_is_reported),
		with_process(test_garbage_ends_the_connection),
		with_process(test_an_answer_counts_once),
		with_process(test_every_outcome_has_a_name),
		with_process(test_after_the_stop_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
