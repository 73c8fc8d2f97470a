/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/json.h"

static char *text;
static size_t size;

static struct json begin(void)
{
	return (struct json){ .out = open_memstream(&text, &size) };
}

static void check(struct json *json, const char *expected)
{
	fclose(json->out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_members_keep_their_order(void **state)
{
	struct json json = begin();

	json_begin(&json, NULL);
	json_text(&json, "stage", "symbolizer");
	json_number(&json, "largest", UINT64_MAX);
	json_begin(&json, "empty");
	json_end(&json);
	json_begin(&json, "dropped");
	json_number(&json, "a", 0);
	json_number(&json, "b", 2);
	json_end(&json);
	json_seconds(&json, "cpu_user_s", 1.25);
	json_end(&json);
	check(&json, "{\"stage\": \"symbolizer\", \"largest\": 18446744073709551615, "
		     "\"empty\": {}, \"dropped\": {\"a\": 0, \"b\": 2}, \"cpu_user_s\": 1.250000}");
}

static void test_texts_are_escaped(void **state)
{
	struct json json = begin();

	json_begin(&json, NULL);
	json_number(&json, "a\"b\\c\nd", 1);
	json_text(&json, "x", "\"}\x01\xff é");
	json_end(&json);
	check(&json, "{\"a\\\"b\\\\c\\\\u{a}d\": 1, \"x\": \"\\\"}\\\\u{1}\\\\x{ff} é\"}");
}

static void test_a_long_text_is_truncated(void **state)
{
	struct json json = begin();
	char *name = malloc(10001);

	memset(name, '"', 10000);
	name[10000] = 0;
	json_begin(&json, NULL);
	json_text(&json, "x", name);
	json_end(&json);
	fclose(json.out);
	assert_in_range(size, 1000, 20020);
	assert_string_equal(text + size - 4, "\\\"\"}");
	free(text);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_keep_their_order),
		cmocka_unit_test(test_texts_are_escaped),
		cmocka_unit_test(test_a_long_text_is_truncated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
