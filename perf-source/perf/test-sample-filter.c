/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Filters as text. What their programs decide: perf-source/bpf/test-sample-program.c. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "perf-source/perf/sample-filter.h"

enum { TEXT_SIZE = 2048 };

static void test_terms_are_parsed(void **state)
{
	struct sample_filter filter;
	const struct sample_term *term = filter.terms;

	assert_int_equal(sample_filter_parse(" gid\t!= 4294967295 ", &filter, NULL), 0);
	assert_int_equal(filter.n, 1);
	assert_int_equal(term->field, SAMPLE_GID);
	assert_false(term->is_equal);
	assert_true(term->ends_group);
	assert_int_equal(term->number, UINT32_MAX);
	assert_int_equal(sample_filter_parse("comm== a=b c! \t", &filter, NULL), 0);
	assert_int_equal(term->field, SAMPLE_COMM);
	assert_true(term->is_equal);
	assert_string_equal(term->comm, "a=b c!");
}

static void test_or_binds_closer_than_and(void **state)
{
	static const bool ends[] = { false, true, true, false, true };
	struct sample_filter filter;

	assert_int_equal(
		sample_filter_parse("pid==1||tid==2,uid==3,gid==4 || pid==5", &filter, NULL), 0);
	assert_int_equal(filter.n, sizeof(ends));
	for (size_t i = 0; i < sizeof(ends); i++) {
		assert_int_equal(filter.terms[i].number, i + 1);
		assert_int_equal(filter.terms[i].ends_group, ends[i]);
	}
}

/* Parsing must stop after `n_before` characters. */
static void refuse(const char *text, int error, size_t n_before)
{
	struct sample_filter filter;
	const char *at = NULL;

	if (sample_filter_parse(text, &filter, &at) != error)
		fail_msg("'%s'", text);
	assert_int_equal(at - text, n_before);
}

static void test_invalid_terms_are_refused_at_their_position(void **state)
{
	static const char *const wrong[] = {
		"",
		" ",
		"pid",
		"pid=",
		"pid=1",
		"pid==",
		"pid== ",
		"pid==x",
		"pid==-1",
		"pid==+1",
		"pid==1x",
		"pid==1 2",
		"pid<=1",
		"pid===1",
		"pid!1",
		"pi==1",
		"pids==1",
		"PID==1",
		"==1",
		"pid==0x1",
		"comm==",
		"comm==\t",
		"uid==root",
		"pid==1|",
		"pid==1|x",
		"pid==1|||x",
		"pid==1.5",
		"uid==,x==",
		"(pid==1)",
		"pid==4294967296",
		"pid==18446744073709551617",
		"comm==sixteen letters!",
	};
	char text[64];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		if (strcmp(wrong[i], "pid==1|||x"))
			refuse(wrong[i], -EINVAL, 0);
		strcpy(stpcpy(text, "tid!=7,"), wrong[i]);
		if (strcmp(wrong[i], "pid==1|||x"))
			refuse(text, -EINVAL, strlen("tid!=7,"));
	}
	refuse("pid==1|||x", -EINVAL, strlen("pid==1||"));
	refuse("pid==1||", -EINVAL, strlen("pid==1||"));
	refuse("pid==1,,pid==2", -EINVAL, strlen("pid==1,"));
}

static void test_the_number_of_terms_is_limited(void **state)
{
	struct sample_filter filter;
	char text[TEXT_SIZE] = "pid==1";

	for (int i = 1; i < SAMPLE_TERMS_MAX; i++)
		strcat(text, i % 2 ? ",pid==1" : "||pid==1");
	assert_int_equal(sample_filter_parse(text, &filter, NULL), 0);
	assert_int_equal(filter.n, SAMPLE_TERMS_MAX);
	strcat(text, ",tid==1");
	refuse(text, -E2BIG, strlen(text) - strlen("tid==1"));
}

static void test_a_value_has_a_limit(void **state)
{
	char text[2 * TEXT_SIZE + 1] = "cgroup==/";

	memset(text + strlen(text), 'x', sizeof(text) - 1 - strlen(text));
	refuse(text, -EINVAL, 0);
}

static void test_a_cgroup_is_a_path_below_the_root(void **state)
{
	struct sample_filter filter;

	refuse("cgroup==..", -EINVAL, 0);
	refuse("cgroup==/a/../b", -EINVAL, 0);
	refuse("cgroup==./b", -EINVAL, 0);
	refuse("pid==1,cgroup==/no-such/group", -ENOENT, strlen("pid==1,"));
	if (sample_filter_parse("cgroup==/", &filter, NULL) == -ENOENT) {
		print_message("there are no control groups of version 2, or not their root\n");
		skip();
	}
	assert_int_equal(filter.terms[0].field, SAMPLE_CGROUP);
	assert_int_equal(filter.terms[0].level, 0);
	assert_true(filter.terms[0].number > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms_are_parsed),
		cmocka_unit_test(test_or_binds_closer_than_and),
		cmocka_unit_test(test_invalid_terms_are_refused_at_their_position),
		cmocka_unit_test(test_the_number_of_terms_is_limited),
		cmocka_unit_test(test_a_value_has_a_limit),
		cmocka_unit_test(test_a_cgroup_is_a_path_below_the_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
