/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Event names, with a made-up tracefs, and uprobes in this program. */
#include <errno.h>
#include <fcntl.h>
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

#include "perf-source/perf/sampled-event.h"
#include "perf-source/perf/tracepoint.h"

#define TRACEFS "/sys/kernel/tracing"
#define OLD_TRACEFS "/sys/kernel/debug/tracing"

enum { TRACEPOINT = 314, PATH_SIZE = 512 };

static char directory[64];
static const char *mounted = TRACEFS; /* where `directory` is mounted */
static int error_of_tracefs;

/* A format file of Linux 6.1. */
static const char format[] = "name: sched_waking\n"
			     "ID: 314\n"
			     "format:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:const char * filename;\toffset:32;\tsize:8;\tsigned:0;\n"
			     "\tfield:const char *name;\toffset:40;\tsize:8;\tsigned:0;\n"
			     "\tfield:__data_loc char[] args;\toffset:48;\tsize:4;\tsigned:0;\n"
			     "\tfield:int odd;\toffset:fifty;\tsize:4;\tsigned:1;\n"
			     "\n"
			     "print fmt: \"comm=%s pid=%d\", REC->comm, REC->pid\n";

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int __wrap_open64(const char *path, int flags, ...)
{
	bool is_tracefs = !strncmp(path, TRACEFS, strlen(TRACEFS)) ||
			  !strncmp(path, OLD_TRACEFS, strlen(OLD_TRACEFS));
	char ours[PATH_SIZE];

	if (!is_tracefs)
		return __real_open64(path, flags, 0600);
	errno = error_of_tracefs && strncmp(path, OLD_TRACEFS, strlen(OLD_TRACEFS))
			? error_of_tracefs
			: ENOENT;
	if (error_of_tracefs || strncmp(path, mounted, strlen(mounted)))
		return -1;
	snprintf(ours, sizeof(ours), "%s%s", directory, path + strlen(mounted));
	return __real_open64(ours, flags, 0600);
}

static void write_file(const char *name, const char *text)
{
	char path[PATH_SIZE];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fputs(text, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
}

static void make_directory(const char *name)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static int make_tracefs(void **state)
{
	strcpy(directory, "/tmp/stackpipe-test-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	make_directory("events");
	make_directory("events/sched");
	make_directory("events/sched/sched_waking");
	make_directory("events/sched/broken");
	write_file("events/sched/sched_waking/id", "314\n");
	write_file("events/sched/sched_waking/format", format);
	write_file("events/sched/broken/id", "none\n");
	/* What names with dots would reach. */
	make_directory("beside");
	write_file("beside/id", "7\n");
	return 0;
}

static int remove_tracefs(void **state)
{
	char command[PATH_SIZE];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

static int reset(void **state)
{
	mounted = TRACEFS;
	error_of_tracefs = 0;
	return 0;
}

static void find(const char *name, uint32_t type, uint64_t config, uint64_t count)
{
	struct sampled_event event;

	assert_int_equal(sampled_event_find(name, &event), 0);
	assert_string_equal(event.name, name);
	assert_int_equal(event.type, type);
	assert_int_equal(event.config, config);
	assert_int_equal(event.count, count);
	assert_int_equal(event.file_fd, -1);
	assert_int_equal(event.filter_program_fd, -1);
	assert_null(event.filter);
}

static void refuse(const char *name, int error)
{
	struct sampled_event event;
	int r = sampled_event_find(name, &event);

	if (r != error)
		fail_msg("'%s': %s", name, strerror(-r));
	assert_int_equal(event.file_fd, -1);
}

static void test_counters_have_the_names_of_perf(void **state)
{
	find("cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0);
	find("instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 0);
	find("cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES, 0);
	find("cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 0);
	find("branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, 0);
	find("branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 0);
	find("cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0);
	find("task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 0);
	find("page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 0);
	find("context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 0);
	find("cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 0);
}

static void test_clocks_weigh_nanoseconds(void **state)
{
	static const char *const names[] = { "cpu-clock", "task-clock", "cycles", "page-faults",
					     "sched:sched_waking" };
	struct sampled_event event;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(sampled_event_find(names[i], &event), 0);
		assert_int_equal(sampled_event_is_clock(&event), i < 2);
		assert_int_equal(sampled_event_is_tracepoint(&event), i == 4);
	}
}

/* Other names that perf knows must be refused. */
static void test_other_names_are_refused(void **state)
{
	static const char *const wrong[] = {
		"",
		"cycle",
		"cycless",
		"Cycles",
		" cycles",
		"cycles ",
		"cycles:u",
		"cycles:",
		"cycles:pp",
		"cycles/u/",
		"r1a8",
		"r003c",
		"0x3c",
		"cpu/event=0x3c/",
		"mem:0x1000",
		"{cycles}",
		"uprobes:x",
		":",
		":sched_waking",
		"sched:",
		"sched:no",
		"sched",
		"sched:sched_waking:u",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		refuse(wrong[i], -ENOENT);
}

static void test_a_name_has_a_limit(void **state)
{
	char name[2 * SAMPLED_EVENT_NAME_SIZE];

	memset(name, 'x', sizeof(name));
	name[5] = ':';
	name[SAMPLED_EVENT_NAME_SIZE] = 0;
	refuse(name, -ENOENT);
	name[SAMPLED_EVENT_NAME_SIZE - 1] = 0;
	refuse(name, -ENOENT);
	name[5] = 'x';
	refuse(name, -ENOENT);
}

static void test_a_tracepoint_is_sampled_each_time(void **state)
{
	find("sched:sched_waking", PERF_TYPE_TRACEPOINT, TRACEPOINT, 1);
	mounted = OLD_TRACEFS;
	find("sched:sched_waking", PERF_TYPE_TRACEPOINT, TRACEPOINT, 1);
}

static void test_a_tracepoint_name_cannot_leave_tracefs(void **state)
{
	refuse("..:beside", -ENOENT);
	refuse("sched:.", -ENOENT);
	refuse("sched:..", -ENOENT);
	refuse("sched:../sched/sched_waking", -ENOENT);
	refuse("sched/sched_waking:.", -ENOENT);
	refuse("sched/../sched:sched_waking", -ENOENT);
	refuse("sched:sched_waking/", -ENOENT);
}

static void test_tracefs_errors_are_distinguished(void **state)
{
	refuse("sched:broken", -EIO);
	mounted = "/nowhere";
	refuse("sched:sched_waking", -ENOENT);
	error_of_tracefs = EACCES;
	refuse("sched:sched_waking", -EACCES);
}

static void find_field(const char *name, uint32_t offset, uint32_t size)
{
	struct tracepoint_field field;

	assert_int_equal(tracepoint_find_field("sched", "sched_waking", name, &field), 0);
	assert_int_equal(field.offset, offset);
	assert_int_equal(field.size, size);
}

static void test_fields_of_tracepoints_are_found(void **state)
{
	find_field("common_type", 0, 2);
	find_field("common_pid", 4, 4);
	find_field("comm", 8, 16);
	find_field("pid", 24, 4);
	find_field("filename", 32, 8);
	find_field("name", 40, 8);
	find_field("args", 48, 4);
}

static void test_other_fields_are_refused(void **state)
{
	static const char *const wrong[] = { "pi", "id",       "pids",	 "char",
					     "",   "REC->pid", "waking", "common" };
	struct tracepoint_field field;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (tracepoint_find_field("sched", "sched_waking", wrong[i], &field) != -ENOENT)
			fail_msg("'%s'", wrong[i]);
	assert_int_equal(tracepoint_find_field("sched", "sched_waking", "odd", &field), -EIO);
	assert_int_equal(tracepoint_find_field("sched", "broken", "pid", &field), -ENOENT);
}

static void test_another_counter_keeps_the_filter(void **state)
{
	struct sampled_event event;

	assert_int_equal(sampled_event_find("cycles", &event), 0);
	event.filter = "pid==1";
	event.filter_program_fd = 5;
	sampled_event_replace(&event, "cpu-clock");
	assert_string_equal(event.name, "cpu-clock");
	assert_int_equal(event.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_string_equal(event.filter, "pid==1");
	assert_int_equal(event.filter_program_fd, 5);
}

/* A function to probe in this file. */
void test_sampled_event_probed(void);
void test_sampled_event_probed(void)
{
}

static void test_a_uprobe_is_a_function_of_a_file(void **state)
{
	static const char symbol[] = "test_sampled_event_probed";
	char self[PATH_SIZE] = "", text[2 * PATH_SIZE], first[16], code[sizeof(first)];
	struct sampled_event event;

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	snprintf(text, sizeof(text), "uprobe:%s:%s", self, symbol);
	assert_true(sampled_event_is_uprobe(text));
	assert_int_equal(sampled_event_find(text, &event), 0);
	snprintf(text, sizeof(text), "uprobe:%s:%s", strrchr(self, '/') + 1, symbol);
	assert_string_equal(event.name, text);
	assert_true(sampled_event_is_tracepoint(&event));
	assert_int_equal(event.count, 1);
	assert_true(event.file_fd >= 0);
	memcpy(first, (void *)(uintptr_t)test_sampled_event_probed, sizeof(first));
	assert_int_equal(pread(event.file_fd, code, sizeof(code), event.file_offset), sizeof(code));
	assert_memory_equal(code, first, sizeof(code));
	close(event.file_fd);
}

static void test_invalid_uprobes_are_refused(void **state)
{
	char self[PATH_SIZE] = "", text[2 * PATH_SIZE];

	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	refuse("uprobe:", -EINVAL);
	refuse("uprobe:/bin/true", -EINVAL);
	refuse("uprobe::main", -EINVAL);
	refuse("uprobe:/bin/true:", -EINVAL);
	refuse("uprobe:/no/such/file:main", -ENOENT);
	refuse("uprobe:/:main", -ENOEXEC);
	refuse("uprobe:/dev/null:main", -ENOEXEC);
	refuse("uprobe:/proc/self/status:main", -ENOEXEC);
	snprintf(text, sizeof(text), "uprobe:%s:no_such_function", self);
	refuse(text, -ESRCH);
	snprintf(text, sizeof(text), "uprobe:%s:mounted", self); /* a variable, not code */
	refuse(text, -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters_have_the_names_of_perf),
		cmocka_unit_test(test_clocks_weigh_nanoseconds),
		cmocka_unit_test(test_other_names_are_refused),
		cmocka_unit_test(test_a_name_has_a_limit),
		cmocka_unit_test_setup(test_a_tracepoint_is_sampled_each_time, reset),
		cmocka_unit_test(test_a_tracepoint_name_cannot_leave_tracefs),
		cmocka_unit_test_teardown(test_tracefs_errors_are_distinguished, reset),
		cmocka_unit_test_setup(test_fields_of_tracepoints_are_found, reset),
		cmocka_unit_test(test_other_fields_are_refused),
		cmocka_unit_test(test_another_counter_keeps_the_filter),
		cmocka_unit_test(test_a_uprobe_is_a_function_of_a_file),
		cmocka_unit_test(test_invalid_uprobes_are_refused),
	};

	return cmocka_run_group_tests(tests, make_tracefs, remove_tracefs);
}
