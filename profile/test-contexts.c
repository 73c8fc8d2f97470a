/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "profile/contexts.h"

static struct names names;
static struct profile_contexts contexts;

static int set_up(void **state)
{
	names_init(&names);
	profile_contexts_init(&contexts, &names);
	return 0;
}

static int tear_down(void **state)
{
	profile_contexts_deinit(&contexts);
	names_deinit(&names);
	return 0;
}

static void add(uint64_t number, const char *trace)
{
	struct wire_trace_context record = { .number = number };

	strcpy(record.trace_id, trace);
	assert_int_equal(profile_contexts_add(&contexts, &record), 0);
}

static void add_attribute(uint64_t number, const char *key, const char *value)
{
	const struct wire_trace_attribute record = { number, wire_string(key, WIRE_ATTRIBUTE_MAX),
						     wire_string(value, WIRE_ATTRIBUTE_MAX) };

	assert_int_equal(profile_contexts_add_attribute(&contexts, &record), 0);
}

static const char *value_of(struct profile_attributes attributes, const char *key)
{
	uint32_t value = profile_attribute_find(&contexts, attributes, key);

	return value ? names_text(&names, value) : "none";
}

static void test_contexts_are_found_by_number(void **state)
{
	add(5, "0af7");
	add_attribute(5, "user", "bob");
	add_attribute(5, "route", "/a");
	add(9, "0af8");
	assert_int_equal(profile_contexts_find(&contexts, 5), 1);
	assert_int_equal(profile_contexts_find(&contexts, 9), 2);
	assert_int_equal(profile_contexts_find(&contexts, 6), 0);
	assert_int_equal(profile_contexts_find(&contexts, 0), 0);
	assert_string_equal(contexts.list[0].trace_id, "0af7");
	assert_string_equal(value_of(contexts.list[0].attributes, "route"), "/a");
	assert_string_equal(value_of(contexts.list[1].attributes, "route"), "none");
}

static void test_attributes_of_another_context_are_refused(void **state)
{
	add(5, "0af7");
	add(9, "0af8");
	add_attribute(5, "user", "bob"); /* not of the last one */
	add_attribute(6, "user", "bob");
	add(5, "0af9"); /* once more */
	assert_int_equal(contexts.n_refused, 3);
	assert_int_equal(contexts.n_attributes, 0);
	assert_int_equal(contexts.n, 2);
}

static void add_resource(uint32_t number, const char *key, const char *value,
			 struct profile_attributes *attributes)
{
	const struct wire_resource_attribute record = {
		.number = number,
		.key = wire_string(key, WIRE_ATTRIBUTE_MAX),
		.value = wire_string(value, WIRE_NAME_MAX),
	};

	assert_int_equal(profile_contexts_add_resource(&contexts, &record, attributes), 0);
}

static void test_a_resource_that_is_published_again_replaces_the_first(void **state)
{
	struct profile_attributes attributes = { 0 };

	add_resource(0, "service.name", "shop", &attributes);
	add_resource(1, "zone", "a", &attributes);
	assert_string_equal(value_of(attributes, "zone"), "a");
	add_resource(0, "service.name", "cart", &attributes);
	assert_int_equal(attributes.n, 1);
	assert_string_equal(value_of(attributes, "service.name"), "cart");
	assert_string_equal(value_of(attributes, "zone"), "none");
	add(5, "0af7");
	add_attribute(5, "user", "bob");
	add_resource(1, "zone", "b", &attributes); /* not directly behind the first */
	assert_int_equal(attributes.n, 1);
	assert_int_equal(contexts.n_refused, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(test_contexts_are_found_by_number),
		TEST(test_attributes_of_another_context_are_refused),
		TEST(test_a_resource_that_is_published_again_replaces_the_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
