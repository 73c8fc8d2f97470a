/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each view of a recording has a unique name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/events.h"

static struct events events;

static void begin(const char *name)
{
	struct wire_hello hello = { 0 };

	strcpy(hello.event, name);
	events_init(&events, &hello);
}

static void add(uint32_t number, enum wire_event_kind kind, const char *name)
{
	const struct wire_event event = { number, kind, WIRE_event_unit_EVENTS,
					  wire_string(name, EVENT_NAME_SIZE) };

	events_add(&events, &event);
}

static void add_sampled(uint32_t number, const char *name)
{
	add(number, WIRE_event_kind_ON_CPU, name);
}

static void assert_views_are_found(void)
{
	struct view views[VIEWS_MAX], found;
	size_t n = events_views(&events, views);

	for (size_t i = 0; i < n; i++) {
		assert_true(view_find(&events, view_name(&events, views[i]), &found));
		assert_int_equal(found.kind, views[i].kind);
		assert_int_equal(found.event, views[i].event);
	}
}

static void test_events_of_one_name(void **state)
{
	begin("cpu-clock");
	for (uint32_t i = 0; i < 3; i++)
		add_sampled(i, "cpu-clock");
	assert_string_equal(events.list[0].name, "cpu-clock");
	assert_string_equal(events.list[1].name, "cpu-clock#2");
	assert_string_equal(events.list[2].name, "cpu-clock#3");
	assert_views_are_found();
}

static void test_names_of_maximum_length_are_unique(void **state)
{
	char name[EVENT_NAME_SIZE];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	begin("first");
	for (uint32_t i = 0; i < EVENTS_MAX; i++)
		add_sampled(i, name);
	assert_int_equal(strlen(events.list[31].name), sizeof(name) - 1);
	assert_string_equal(events.list[31].name + 61, "#32");
	assert_views_are_found();
}

static void test_events_named_like_views_are_unique(void **state)
{
	static const char *const names[] = { "samples", "off-cpu", "on-cpu", "wall-clock" };

	begin("cycles");
	add_sampled(0, "cpu-clock");
	for (uint32_t i = 0; i < 4; i++)
		add_sampled(i + 1, names[i]);
	add(5, WIRE_event_kind_OFF_CPU, "off-cpu");
	assert_string_equal(events.list[1].name, "samples#2");
	assert_string_equal(events.list[5].name, "off-cpu");
	assert_views_are_found();
}

static void test_a_repeated_event_keeps_its_name(void **state)
{
	begin("cpu-clock");
	add_sampled(0, "cpu-clock");
	add_sampled(1, "page-faults");
	add_sampled(1, "page-faults");
	assert_string_equal(events.list[1].name, "page-faults");
}

/* Names reach terminals, and a stream's author is untrusted. */
static void test_names_are_clean(void **state)
{
	begin("\033[1m");
	add_sampled(1, "a\nb");
	assert_string_equal(events.list[0].name, "\\u{1b}[1m");
	assert_string_equal(events.list[1].name, "a\\u{a}b");
}

/* Modifiers after perf's event name do not change whether it is a clock. */
static void test_clocks_weigh_time(void **state)
{
	static const struct {
		const char *name;
		bool is_time;
	} names[] = { { "cpu-clock", true },
		      { "task-clock:u", true },
		      { "cpu-clock/call-graph=no/u", true },
		      { "cpu-clocks", false },
		      { "cpu", false },
		      { "cycles:u", false },
		      { "a:cpu-clock", false },
		      { "", false } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		begin(names[i].name);
		assert_int_equal(event_is_time(&events.list[0]), names[i].is_time);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events_of_one_name),
		cmocka_unit_test(test_names_of_maximum_length_are_unique),
		cmocka_unit_test(test_events_named_like_views_are_unique),
		cmocka_unit_test(test_a_repeated_event_keeps_its_name),
		cmocka_unit_test(test_names_are_clean),
		cmocka_unit_test(test_clocks_weigh_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
