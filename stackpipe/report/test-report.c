/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of a hand-made stream, by their command lines. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/stage/stage.h"
#include "stackpipe/commands.h"

enum { SHELL = 1, MAKE, SHELL_PID = 100, MAKE_PID = 200, HELPER = 201, IMAGE = 1 };
enum { TEXT_SIZE = 16384, ARGUMENTS_MAX = 16 };

#define SECOND 1000000000ULL
#define BEGIN (50 * SECOND)
#define STRING(text) ((struct wire_string){ text, strlen(text) })

static char path[] = "/tmp/stackpipe-test-XXXXXX";
static struct wire_writer writer;
static char output[TEXT_SIZE], errors[TEXT_SIZE];

static void put(enum wire_record_id id, const void *view)
{
	assert_int_equal(wire_writer_put(&writer, id, view), 0);
}

static void put_process(uint64_t number, uint32_t pid, const char *name, const char *cgroup)
{
	put(WIRE_RECORD_process, &(struct wire_process){ .process = number,
							 .time = BEGIN,
							 .pid = pid,
							 .origin = WIRE_origin_FOUND,
							 .name = STRING(name) });
	put(WIRE_RECORD_cgroup,
	    &(struct wire_cgroup){ .process = number, .time = BEGIN, .path = STRING(cgroup) });
	put(WIRE_RECORD_mapping, &(struct wire_mapping){ .mapping = number,
							 .process = number,
							 .time = BEGIN,
							 .start = 0x10000,
							 .length = 0x10000,
							 .image = IMAGE });
}

static void put_function(uint64_t offset, const char *name)
{
	put(WIRE_RECORD_symbol, &(struct wire_symbol){ .image = IMAGE,
						       .offset = offset,
						       .start = offset,
						       .size = 0x100,
						       .name = STRING(name) });
}

/* A sample in the first of two functions, called by the second. */
static void put_stack(uint64_t seconds, uint64_t process, uint32_t tid, uint64_t inner)
{
	const struct wire_frame frames[] = {
		{ 0x10000 + inner, process, WIRE_frame_flags_EXACT },
		{ 0x10001, process, 0 },
	};

	put(WIRE_RECORD_stack, &(struct wire_stack){ .time = BEGIN + seconds * SECOND,
						     .process = process,
						     .tid = tid,
						     .weight = 1000,
						     .end = WIRE_stack_end_COMPLETE,
						     .frames = { frames, 2 } });
}

static void put_end(void)
{
	struct wire_total totals[WIRE_TYPE_MAX];
	struct wire_end end = { .time = BEGIN + 10 * SECOND, .totals.data = totals };

	for (uint32_t i = 0; i < WIRE_TYPE_MAX; i++)
		if (writer.totals[i])
			totals[end.totals.n++] = (struct wire_total){ i, writer.totals[i] };
	put(WIRE_RECORD_end, &end);
}

static int make_recording(void **state)
{
	int fd = mkstemp(path);

	assert_int_equal(wire_writer_init(&writer, fd), 0);
	put(WIRE_RECORD_hello, &(struct wire_hello){ .magic = WIRE_MAGIC,
						     .version_major = WIRE_VERSION_MAJOR,
						     .version_minor = WIRE_VERSION_MINOR,
						     .clock = WIRE_clock_MONOTONIC,
						     .start_time = BEGIN,
						     .rate = 100,
						     .n_cpus = 1,
						     .event = "cycles",
						     .stages = "test|live-unwinder|symbolizer" });
	put(WIRE_RECORD_image, &(struct wire_image){ .image = IMAGE,
						     .kind = WIRE_image_kind_FILE,
						     .inode = 1,
						     .path = STRING("/bin/program") });
	put_process(SHELL, SHELL_PID, "sh", "/system.slice/cron.service");
	put_process(MAKE, MAKE_PID, "make", "/user.slice");
	put(WIRE_RECORD_thread,
	    &(struct wire_thread){
		    .process = MAKE, .time = BEGIN, .tid = HELPER, .name = STRING("helper") });
	put_function(0, "main");
	put_function(0x100, "parse");
	put_function(0x200, "compile");
	put_stack(1, SHELL, SHELL_PID, 0x100);
	put_stack(2, MAKE, MAKE_PID, 0x200);
	put_stack(3, MAKE, HELPER, 0x200);
	put_stack(4, MAKE, HELPER, 0x100);
	put_end();
	assert_int_equal(wire_writer_flush(&writer), 0);
	wire_writer_deinit(&writer);
	return close(fd);
}

static int remove_recording(void **state)
{
	return remove(path);
}

static void read_back(int fd, char ret[TEXT_SIZE])
{
	ssize_t size = pread(fd, ret, TEXT_SIZE - 1, 0);

	assert_true(size >= 0);
	ret[size] = 0;
	close(fd);
}

/* Runs a command in a child, because commands keep options in variables and exit. */
static int run_command(const char *const *arguments)
{
	int out = memfd_create("out", 0), err = memfd_create("err", 0), n = 0, status;
	char *words[ARGUMENTS_MAX] = { "report" };
	pid_t pid;

	while (arguments[n]) {
		words[n + 1] = (char *)arguments[n];
		n++;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(err, STDERR_FILENO);
		exit(command_report(n + 1, words));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	read_back(out, output);
	read_back(err, errors);
	return WEXITSTATUS(status);
}

#define RUN(...) run_command((const char *const[]){ __VA_ARGS__, NULL })

static void assert_shown(const char *text)
{
	if (!strstr(output, text))
		fail_msg("%s is not in %s%s", text, output, errors);
}

static void assert_hidden(const char *text)
{
	if (strstr(output, text))
		fail_msg("%s is in %s", text, output);
}

static void test_groups_are_sorted_by_amount(void **state)
{
	assert_int_equal(RUN("--json", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": [\n{\"name\":\"make\",\"pid\":200,\"samples\":3},\n"
		     "{\"name\":\"sh\",\"pid\":100,\"samples\":1}]");
	assert_shown("\"threads\": [\n{\"name\":\"helper\",\"tid\":201,\"samples\":2},\n");
	assert_shown("\"images\": [\n{\"name\":\"/bin/program\",\"samples\":4}]");
	assert_shown("{\"path\":\"/system.slice/cron.service\"");
}

static void test_rows_are_limited(void **state)
{
	assert_int_equal(RUN("--json", "-n1", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": [\n{\"name\":\"make\",\"pid\":200,\"samples\":3}]");
	assert_shown("\"n_functions\": 3");
	assert_int_equal(RUN("--json", "-n", "0", path), STAGE_EXIT_OK);
	assert_shown("\"name\":\"sh\"");
}

static void test_processes_and_threads_are_selected(void **state)
{
	static const char *const of_shell[] = { "--process=^s",	 "-p100",	"--cgroup=cron",
						"--thread=^sh$", "--time=:1.5", "--time=0.5:1.5" };

	for (size_t i = 0; i < sizeof(of_shell) / sizeof(*of_shell); i++) {
		assert_int_equal(RUN("--json", of_shell[i], path), STAGE_EXIT_OK);
		assert_shown("\"processes\": [\n{\"name\":\"sh\",\"pid\":100,\"samples\":1}]");
	}
	assert_int_equal(RUN("--json", "--time=3:", "--process=a|b", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": [\n{\"name\":\"make\",\"pid\":200,\"samples\":2}]");
	assert_int_equal(RUN("--json", "-p", "101", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": []");
}

static void test_stacks_are_selected_by_a_function(void **state)
{
	assert_int_equal(RUN("--json", "--symbol=^comp", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": [\n{\"name\":\"make\",\"pid\":200,\"samples\":2}]");
	assert_int_equal(RUN("--json", "--symbol=^ompile", path), STAGE_EXIT_OK);
	assert_shown("\"processes\": []");
}

static void test_callers_and_callees_are_trees(void **state)
{
	assert_int_equal(RUN("--json", "--callers=parse", path), STAGE_EXIT_OK);
	assert_shown("\"tree\": [");
	assert_shown("\"main\"");
	assert_hidden("\"compile\"");
	assert_int_equal(RUN("--json", "--callees=main", "--min=30", path), STAGE_EXIT_OK);
	assert_shown("\"compile\"");
	assert_int_equal(RUN("--json", "--tree", "--min=60", path), STAGE_EXIT_OK);
	assert_shown("\"main\"");
	assert_hidden("\"compile\"");
}

static void test_a_view_is_found_by_its_name(void **state)
{
	assert_int_equal(RUN("--json", "--view=off-cpu", "--view=samples", path), STAGE_EXIT_OK);
	assert_shown("\"samples\":3");
	assert_int_equal(RUN("--view=off-cpu", path), STAGE_EXIT_FAILED);
	assert_non_null(strstr(errors, "no view 'off-cpu'; it has: samples"));
}

static void refuse(const char *option, const char *message)
{
	assert_int_equal(RUN(option, path), STAGE_EXIT_USAGE);
	if (!strstr(errors, message))
		fail_msg("%s: %s", option, errors);
	assert_string_equal(output, "");
}

static void test_invalid_options_are_reported(void **state)
{
	static const char *const times[] = { "2:1", "x",   "1:x", "-1:2", "1:2:3",
					     "nan", "inf", "1:1", ":-1",  "1-2" };
	static const char *const numbers[] = { "", "x", "-1", " -1", "1x", "18446744073709551616" };
	char option[64];

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		snprintf(option, sizeof(option), "--time=%s", times[i]);
		refuse(option, "--time takes FROM:TO in seconds, not '");
	}
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		snprintf(option, sizeof(option), "--rows=%s", numbers[i]);
		refuse(option, "-n takes a number, not '");
		snprintf(option, sizeof(option), "--pid=%s", numbers[i]);
		refuse(option, "-p takes a number, not '");
	}
	refuse("--pid=18446744073709551615", "-p takes a number, not '");
	refuse("--min=-1", "--min takes a percentage, not '-1'");
	refuse("--process=(", "invalid regular expression '(': ");
	refuse("--callers=[z-a]", "invalid regular expression '[z-a]': ");
	refuse("another", "unexpected argument '");
}

/* The report and its stages must treat such an argument as a file. */
static void test_a_file_may_be_called_like_an_option(void **state)
{
	FILE *file;

	assert_int_equal(chdir("/tmp"), 0);
	file = fopen("-stackpipe-test.folded", "we");
	assert_non_null(file);
	fputs("a;b 1\n", file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(RUN("--show-pipeline", "--", "-stackpipe-test.folded"), STAGE_EXIT_OK);
	assert_string_equal(output, "capture-source -- -stackpipe-test.folded\n");
	assert_int_equal(RUN("--json", "--", "-stackpipe-test.folded"), STAGE_EXIT_OK);
	assert_shown("\"processes\": [\n{\"name\":\"a\"");
	remove("-stackpipe-test.folded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_are_sorted_by_amount),
		cmocka_unit_test(test_rows_are_limited),
		cmocka_unit_test(test_processes_and_threads_are_selected),
		cmocka_unit_test(test_stacks_are_selected_by_a_function),
		cmocka_unit_test(test_callers_and_callees_are_trees),
		cmocka_unit_test(test_a_view_is_found_by_its_name),
		cmocka_unit_test(test_invalid_options_are_reported),
		cmocka_unit_test(test_a_file_may_be_called_like_an_option),
	};

	return cmocka_run_group_tests(tests, make_recording, remove_recording);
}
