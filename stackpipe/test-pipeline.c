/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A printed pipeline, run by a shell, must yield the same arguments, byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stackpipe/pipeline.h"

enum { ARGUMENTS_MAX = 64, TEXT_MAX = 40, ROUNDS = 60, OUTPUT_MAX = 1 << 16 };

static char *print(const struct pipeline *pipeline)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	assert_non_null(out);
	pipeline_print(pipeline, out);
	assert_int_equal(fclose(out), 0);
	return line;
}

/* The output of sh for this line. */
static size_t run(const char *line, char ret[OUTPUT_MAX])
{
	char path[] = "/tmp/stackpipe-test-XXXXXX", command[64];
	FILE *file = fdopen(mkstemp(path), "w");
	size_t size;

	assert_non_null(file);
	assert_int_equal(fputs(line, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command), "exec sh %s", path);
	file = popen(command, "re");
	assert_non_null(file);
	size = fread(ret, 1, OUTPUT_MAX, file);
	assert_int_equal(pclose(file), 0);
	remove(path);
	return size;
}

/* printf(1) writes each argument with a terminating zero byte; a second stage copies it. */
static void assert_comes_back(const char *const *arguments, size_t n)
{
	static char output[OUTPUT_MAX];
	struct pipeline pipeline = { 0 };
	size_t size, at = 0;
	char *line;

	assert_int_equal(pipeline_add(&pipeline, "printf"), 0);
	assert_int_equal(pipeline_add(&pipeline, "cat"), 0);
	assert_int_equal(pipeline_add_argument(&pipeline, "-"), 0);
	assert_int_equal(pipeline_add_argument_to(&pipeline, 0, "%s\\0"), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pipeline_add_argument_to(&pipeline, 0, arguments[i]), 0);
	line = print(&pipeline);
	size = run(line, output);
	for (size_t i = 0; i < n; i++) {
		size_t expected = strlen(arguments[i]) + 1;

		if (at + expected > size || memcmp(output + at, arguments[i], expected))
			fail_msg("argument %zu of %s", i, line);
		at += expected;
	}
	assert_int_equal(at, size);
	free(line);
	pipeline_deinit(&pipeline);
}

static void test_hostile_arguments_are_quoted_correctly(void **state)
{
	static const char *const arguments[] = {
		"",	      " ",	 "a b",	   " a ",	 "\t",	  "a\nb",      "\n",
		"\n\n",	      "'",	 "''",	   "a'b",	 "'a'",	  "\"",	       "\"a\"",
		"\\",	      "\\\\",	 "\\n",	   "a\\",	 "$HOME", "$(id)",     "`id`",
		"${x",	      "$",	 "$$",	   "-",		 "--",	  "-n",	       "-rf",
		"*",	      "?",	 "[a-z]*", "~",		 "~root", "a=b",       "a=~/x",
		"#",	      "a#b",	 "# no",   ";",		 "&",	  "&&",	       "|",
		"a|b",	      ">/dev/x", "<x",	   "(x)",	 "{a,b}", "!",	       "!!",
		"%s",	      "%",	 "^",	   "\x01\x1b[m", "\x7f",  "\xff\xfe",  "\xc3\xa4",
		"\xc3",	      "\r",	 "a\r\n",  "if",	 "then",  "/bin/a:/b", "a@b,c+d_e.",
		"comm==a||b",
	};

	assert_comes_back(arguments, sizeof(arguments) / sizeof(*arguments));
	for (size_t i = 0; i < sizeof(arguments) / sizeof(*arguments); i++)
		assert_comes_back(&arguments[i], 1);
}

static void make_text(char ret[TEXT_MAX])
{
	static const char special[] = " \t\n'\"\\$`!*?[]{}()<>|&;#~=%^-";
	size_t n = rand() % TEXT_MAX;

	for (size_t i = 0; i < n; i++)
		ret[i] = rand() % 2 ? special[rand() % (sizeof(special) - 1)] : 1 + rand() % 255;
	ret[n] = 0;
}

static void test_random_arguments_are_quoted_correctly(void **state)
{
	char texts[ARGUMENTS_MAX][TEXT_MAX];
	const char *arguments[ARGUMENTS_MAX];

	srand(1);
	for (int round = 0; round < ROUNDS; round++) {
		size_t n = 1 + rand() % ARGUMENTS_MAX;

		for (size_t i = 0; i < n; i++) {
			make_text(texts[i]);
			arguments[i] = texts[i];
		}
		assert_comes_back(arguments, n);
	}
}

/* The line must be readable as well. */
static void test_plain_words_are_not_quoted(void **state)
{
	struct pipeline pipeline = { 0 };
	char *line;

	assert_int_equal(pipeline_add(&pipeline, "perf-source"), 0);
	assert_int_equal(pipeline_add_argument(&pipeline, "--filter"), 0);
	assert_int_equal(pipeline_add_argument(&pipeline, "uid!=0,comm==a||comm==b"), 0);
	assert_int_equal(pipeline_add_argument(&pipeline, "--off-cpu=100"), 0);
	assert_int_equal(pipeline_add(&pipeline, "capture-sink"), 0);
	assert_int_equal(pipeline_add_argument(&pipeline, "it's.html"), 0);
	assert_int_equal(pipeline_add_argument_to(&pipeline, 0, "./%a+b@c:d"), 0);
	line = print(&pipeline);
	assert_string_equal(line, "perf-source --filter 'uid!=0,comm==a||comm==b' --off-cpu=100 "
				  "./%a+b@c:d | capture-sink 'it'\\''s.html'\n");
	free(line);
	pipeline_deinit(&pipeline);
}

static void test_an_empty_pipeline_is_an_empty_line(void **state)
{
	char *line = print(&(struct pipeline){ 0 });

	assert_string_equal(line, "\n");
	free(line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hostile_arguments_are_quoted_correctly),
		cmocka_unit_test(test_random_arguments_are_quoted_correctly),
		cmocka_unit_test(test_plain_words_are_not_quoted),
		cmocka_unit_test(test_an_empty_pipeline_is_an_empty_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
