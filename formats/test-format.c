/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of formats; each file format is written from a profile without a sink. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/format.h"

static struct stage stage;
static struct recorder recorder;

static int set_up(void **state)
{
	struct wire_hello hello = { .stages = "symbolizer", .event = "cpu-clock", .host = "here" };
	struct wire_process process = { .process = 1, .pid = 70, .name = wire_string("prog", 64) };
	struct wire_stack stack = {
		.process = 1, .tid = 70, .weight = 1, .end = WIRE_stack_end_NO_MAPPING
	};

	memset(&recorder, 0, sizeof(recorder));
	recorder_init(&recorder);
	assert_int_equal(recorder_start(&stage, &recorder, &hello), 0);
	stacks_handle_process(&stage, &recorder.stacks, &process);
	assert_int_equal(stacks_handle_stack(&stage, &recorder.stacks, &stack), 0);
	assert_int_equal(recorder_finish(&recorder, &stage), 0);
	return 0;
}

static int tear_down(void **state)
{
	recorder_deinit(&recorder);
	counters_deinit(&stage.counters);
	return 0;
}

static void test_formats_are_found_by_name_and_ending(void **state)
{
	assert_ptr_equal(format_find("pb.gz"), &format_pprof);
	assert_ptr_equal(format_find("syscap"), &format_syscap);
	assert_null(format_find(""));
	assert_null(format_find("gz"));
	assert_ptr_equal(format_of_path("a.b/out.firefox.json"), &format_firefox);
	assert_null(format_of_path("out.json"));
	assert_null(format_of_path("syscap"));
	assert_null(format_of_path(".syscap"));
	assert_string_equal(format_name(&format_otlp), "otlp");
	assert_string_equal(FORMATS_TEXT,
			    "syscap, html, folded, pb.gz, speedscope.json, firefox.json or otlp");
	assert_string_equal(
		FORMATS_ENDINGS,
		".syscap, .html, .folded, .pb.gz, .speedscope.json, .firefox.json, .otlp");
}

static void assert_is_written(const struct format *format, const char *name)
{
	char path[] = "/tmp/test-format-XXXXXX", part[] = "prog", *data;
	struct output output;
	const struct export export = {
		.profile = &recorder.profile,
		.counters = &stage.counters,
		.is_whole = true,
		.output = &output,
	};
	struct stat status;
	FILE *in;

	assert_non_null(mkdtemp(path));
	assert_int_equal(chdir(path), 0);
	assert_int_equal(output_open(&output, name, OUTPUT_FILE_NEW), 0);
	assert_int_equal(format->write(&export), 0);
	assert_int_equal(output_close(&output), 0);
	in = fopen(name, "r");
	assert_non_null(in);
	assert_int_equal(fstat(fileno(in), &status), 0);
	data = calloc(1, status.st_size);
	assert_int_equal(fread(data, 1, status.st_size, in), status.st_size);
	/* These two are compressed. */
	if (format != &format_pprof && format != &format_html)
		assert_non_null(memmem(data, status.st_size, part, strlen(part)));
	assert_true(status.st_size > 0);
	free(data);
	fclose(in);
	unlink(name);
	assert_int_equal(chdir("/"), 0);
	rmdir(path);
}

static void test_each_format_writes_a_settled_profile(void **state)
{
#define WRITE(symbol, name)                                                                        \
	if (format_##symbol.write && !format_##symbol.is_of_counts)                                \
		assert_is_written(&format_##symbol, "out." name);
	FORMATS(WRITE, WRITE, WRITE)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats_are_found_by_name_and_ending),
		cmocka_unit_test_setup_teardown(test_each_format_writes_a_settled_profile, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
