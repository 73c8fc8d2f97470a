/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/stream/process-context.h"
#include "common/stream/test-process-contexts.h"

/* The value of an attribute; NULL: it has none. */
static const char *value_of(const struct process_context *context, const char *key)
{
	for (size_t i = 0; i < context->n_attributes; i++)
		if (!strcmp(context->attributes[i].key, key))
			return context->attributes[i].value;
	return NULL;
}

static int decode(const struct test_message *message, struct process_context *ret)
{
	return process_context_decode((struct wire_blob){ message->bytes, message->size }, ret);
}

static void test_attributes_and_keys_are_found(void **state)
{
	static const char *const keys[] = { "http.route", "user", NULL };
	struct test_message message = { 0 };
	struct process_context context;

	test_put_resource(&message, "service.name", "shop");
	test_put_resource(&message, "deployment.environment.name", "test");
	test_put_threads(&message, "tls_v1", keys);
	assert_int_equal(decode(&message, &context), 0);
	assert_int_equal(context.n_attributes, 2);
	assert_string_equal(value_of(&context, "service.name"), "shop");
	assert_string_equal(value_of(&context, "deployment.environment.name"), "test");
	assert_null(value_of(&context, "service"));
	assert_true(process_context_has_threads(&context));
	assert_int_equal(context.n_keys, 2);
	assert_string_equal(context.keys[1], "user");
	assert_int_equal(context.n_refused, 0);
	process_context_deinit(&context);
}

static void test_numbers_are_written_out(void **state)
{
	struct test_message message = { 0 }, resource = { 0 };
	struct test_message truth = { "\x10\x01", 2 }, number = { "\x18\x05", 2 };
	struct test_message fraction = { "\x21\0\0\0\0\0\0\xf8\x3f", 9 }, list = { "\x2a\x00", 2 };
	struct process_context context;

	test_put_pair(&resource, 1, "truth", &truth);
	test_put_pair(&resource, 1, "number", &number);
	test_put_pair(&resource, 1, "fraction", &fraction);
	test_put_pair(&resource, 1, "list", &list);
	test_put_message(&message, 1, &resource);
	assert_int_equal(decode(&message, &context), 0);
	assert_string_equal(value_of(&context, "truth"), "true");
	assert_string_equal(value_of(&context, "number"), "5");
	assert_string_equal(value_of(&context, "fraction"), "1.5");
	assert_null(value_of(&context, "list"));
	assert_int_equal(context.n_refused, 1);
	process_context_deinit(&context);
}

static void test_an_unknown_schema_has_no_threads(void **state)
{
	static const char *const keys[] = { NULL };
	struct test_message message = { 0 };
	struct process_context context;

	test_put_threads(&message, "go_pprof_labels_v1", keys);
	assert_int_equal(decode(&message, &context), 0);
	assert_false(process_context_has_threads(&context));
	process_context_deinit(&context);
}

static void test_limits_hold(void **state)
{
	static const char *keys[PROCESS_CONTEXT_KEYS_MAX + 2];
	struct test_message message = { 0 };
	struct process_context context;

	for (size_t i = 0; i <= PROCESS_CONTEXT_KEYS_MAX; i++)
		keys[i] = "k";
	test_put_threads(&message, "tls_v1", keys);
	for (size_t i = 0; i <= PROCESS_CONTEXT_ATTRIBUTES_MAX; i++)
		test_put_resource(&message, "a", "b");
	assert_int_equal(decode(&message, &context), 0);
	assert_int_equal(context.n_keys, PROCESS_CONTEXT_KEYS_MAX);
	assert_int_equal(context.n_attributes, PROCESS_CONTEXT_ATTRIBUTES_MAX);
	assert_int_equal(context.n_refused, 2);
	process_context_deinit(&context);
}

/* An index keeps its meaning if the key before it is none. */
static void test_a_key_that_is_no_text_keeps_its_place(void **state)
{
	static const char *const keys[] = { "", "user", NULL };
	struct test_message message = { 0 };
	struct process_context context;

	test_put_threads(&message, "tls_v1", keys);
	assert_int_equal(decode(&message, &context), 0);
	assert_int_equal(context.n_keys, 2);
	assert_null(context.keys[0]);
	assert_string_equal(context.keys[1], "user");
	process_context_deinit(&context);
}

static void test_a_cut_message_counts_for_nothing(void **state)
{
	struct test_message message = { 0 };
	struct process_context context;

	test_put_resource(&message, "service.name", "shop");
	message.size--;
	assert_int_equal(decode(&message, &context), PROCESS_CONTEXT_DAMAGED);
	assert_int_equal(context.n_attributes, 0);
	process_context_deinit(&context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes_and_keys_are_found),
		cmocka_unit_test(test_numbers_are_written_out),
		cmocka_unit_test(test_an_unknown_schema_has_no_threads),
		cmocka_unit_test(test_limits_hold),
		cmocka_unit_test(test_a_key_that_is_no_text_keeps_its_place),
		cmocka_unit_test(test_a_cut_message_counts_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
