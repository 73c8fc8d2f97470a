/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Perf maps and jitdumps read while a compiler writes them: of a program of ours that reports what
 * is where at which time, and of node and Python (3.12 or later), if installed.
 *
 * test-jit-producers JITDUMP-PROGRAM
 */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/image-server/target-file.h"
#include "common/jit/jitdump.h"
#include "symbolizer/jit/test-perf-map-find.h"

#define NOW UINT64_MAX

enum { TRUTHS_MAX = 256, INTERVAL_US = 20000 };

struct truth {
	unsigned long long time, address;
	char name[64];
	unsigned int line;
};

static const char *program;
static char dir[] = "/tmp/stackpipe-test-XXXXXX";

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* Opens a file written by a child; -1: not there yet. */
static int open_written(const char *path)
{
	const struct target_file_policy policy = { .user = geteuid(),
						   .size_max = PERF_MAP_SIZE_MAX };
	_cleanup_fd_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = -1, outcome = target_file_open(root, path, &policy, &fd);

	assert_true(outcome == TARGET_FILE_OK || outcome == TARGET_FILE_E_MISSING);
	return fd;
}

static void check_truth(const struct jitdump *dump, const struct truth *truth)
{
	struct jit_place place;
	struct jit_code code;

	if (!strcmp(truth->name, "-")) {
		assert_false(
			jit_functions_find(&dump->functions, truth->address, truth->time, &code));
		return;
	}
	assert_true(jit_functions_find(&dump->functions, truth->address, truth->time, &code));
	assert_string_equal(code.name, truth->name);
	assert_int_equal(jit_functions_find_line(&dump->functions, &code, truth->address, &place),
			 truth->line > 0);
	if (truth->line) {
		assert_string_equal(place.file, "made.js");
		assert_int_equal(place.line, truth->line);
	}
}

static void test_replaced_and_moved_code_is_known_by_time(void **state)
{
	static struct truth truths[TRUTHS_MAX];
	_cleanup_(jitdump_deinit) struct jitdump dump;
	_cleanup_fd_ int fd = -1;
	char path[64], command[4096];
	size_t n = 0;
	FILE *says;

	jitdump_init(&dump);
	snprintf(path, sizeof(path), "%s/jit.dump", dir);
	snprintf(command, sizeof(command), "exec %s %s", program, path);
	says = popen(command, "re");
	for (; fscanf(says, "%llu %llx %63s %u\n", &truths[n].time, &truths[n].address,
		      truths[n].name, &truths[n].line) == 4;
	     n++) {
		if (fd < 0)
			fd = open_written(path);
		assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
		check_truth(&dump, &truths[n]);
		assert_true(n < TRUTHS_MAX - 1);
	}
	assert_int_equal(pclose(says), 0);
	assert_true(n > 30);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	assert_true(dump.is_closed);
	assert_int_equal(dump.n_late + dump.n_refused_records + dump.n_refused_lines, 0);
	for (size_t i = 0; i < n; i++) /* past states, with everything known */
		check_truth(&dump, &truths[i]);
}

/* Starts a command in the directory with its output discarded. */
static pid_t begin(const char *command)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		if (chdir(dir) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
		    dup2(null, STDERR_FILENO) < 0)
			_exit(1);
		execl("/bin/sh", "sh", "-c", command, NULL);
		_exit(1);
	}
	return pid;
}

static int has_ended(pid_t pid)
{
	int status;

	return waitpid(pid, &status, WNOHANG) == pid;
}

/* Reads a jitdump while a program writes it; false if there is none. */
static bool follow_jitdump(pid_t pid, const char *path, struct jitdump *ret)
{
	_cleanup_fd_ int fd = -1;
	int ended = 0;

	jitdump_init(ret);
	do {
		ended = has_ended(pid);
		if (fd < 0)
			fd = open_written(path);
		if (fd >= 0)
			assert_int_equal(jitdump_read(ret, fd, UINT64_MAX), JITDUMP_OK);
		usleep(INTERVAL_US);
	} while (!ended);
	return fd >= 0;
}

static bool follow_perf_map(pid_t pid, const char *path, struct perf_map *ret)
{
	_cleanup_fd_ int fd = -1;
	int ended = 0;

	*ret = (struct perf_map){ 0 };
	do {
		ended = has_ended(pid);
		if (fd < 0)
			fd = open_written(path);
		if (fd >= 0)
			assert_int_equal(perf_map_read(ret, fd, UINT64_MAX), 0);
		usleep(INTERVAL_US);
	} while (!ended);
	return fd >= 0;
}

/* The name in the file's last line that holds an address, by linear search. */
static bool look(FILE *file, uint64_t address, char *ret, size_t size)
{
	bool any = false;
	char line[8192];

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		unsigned long long start, length;
		int at;

		if (sscanf(line, "%llx %llx %n", &start, &length, &at) != 2 ||
		    address - start >= length)
			continue;
		line[strcspn(line, "\n")] = 0;
		snprintf(ret, size, "%s", line + at);
		any = true;
	}
	return any;
}

static void check_against_file(const struct perf_map *map, const char *path)
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	struct perf_map_entry entry;
	char name[8192];

	for (size_t i = 0; i < map->code.n; i += 1 + map->code.n / 300) {
		uint64_t address = (map->code.pieces[i].start + map->code.pieces[i].end) / 2;

		assert_true(look(file, address, name, sizeof(name)));
		assert_true(perf_map_find(map, address, &entry));
		assert_string_equal(entry.name, name);
	}
}

/* Reading in pieces must equal reading at once. */
static void check_at_once(const struct jitdump *dump, const char *path)
{
	_cleanup_(jitdump_deinit) struct jitdump at_once;
	_cleanup_fd_ int fd = open_written(path);
	const struct code_history *history = &dump->functions.history;
	struct jit_code code, other;

	jitdump_init(&at_once);
	assert_int_equal(jitdump_read(&at_once, fd, UINT64_MAX), JITDUMP_OK);
	assert_int_equal(history->n, at_once.functions.history.n);
	for (size_t i = 0; i < history->n; i++) {
		uint64_t address = history->pieces[i].start, time = dump->functions.pieces[i].time;

		assert_true(jit_functions_find(&dump->functions, address, time, &code));
		assert_true(jit_functions_find(&at_once.functions, address, time, &other));
		assert_string_equal(code.name, other.name);
	}
}

/* Whether any function's name begins like this. */
static bool has_function(const struct jitdump *dump, const char *begins)
{
	const struct jit_functions *functions = &dump->functions;

	for (size_t i = 0; i < functions->n; i++)
		if (!strncmp(name_store_get(&functions->names, functions->list[i].name), begins,
			     strlen(begins)))
			return true;
	return false;
}

/* The first line entry of a function, from its first instructions. */
static uint32_t first_line(const struct jit_functions *functions,
			   const struct jit_function *function)
{
	struct jit_code code = { .start = function->start, .function = function };
	struct jit_place place;

	for (uint64_t i = 0; i < 16; i++)
		if (jit_functions_find_line(functions, &code, function->start + i, &place))
			return place.line;
	return 0;
}

/* "JS:^name file:LINE:COLUMN": V8's unoptimized code begins with that line or the next one. */
static void check_first_lines(const struct jitdump *dump)
{
	const struct jit_functions *functions = &dump->functions;
	size_t n = 0;

	for (size_t i = 0; i < functions->n; i++) {
		const struct jit_function *function = &functions->list[i];
		const char *name = name_store_get(&functions->names, function->name);
		const char *line = strrchr(name, ':');

		if (strncmp(name, "JS:^", 4) || !function->n_lines)
			continue;
		while (line[-1] != ':')
			line--;
		assert_in_range(first_line(functions, function), atoi(line), atoi(line) + 3);
		n++;
	}
	assert_true(n > 0);
}

static bool has_entry(const struct perf_map *map, const char *part)
{
	for (size_t i = 0; i < map->code.n; i++)
		if (strstr(name_store_get(&map->names, map->name_list[i]), part))
			return true;
	return false;
}

static const char node_script[] =
	"'function spin_of_test(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i);"
	" return s; } for (const end = Date.now() + 700; Date.now() < end;) spin_of_test(10000)'";

static void test_perf_maps_of_node_are_read(void **state)
{
	_cleanup_(perf_map_deinit) struct perf_map map = { 0 };
	char command[512], path[64];
	pid_t pid;

	if (system("node --version >/dev/null 2>&1"))
		skip();
	snprintf(command, sizeof(command), "exec node --perf-basic-prof -e %s", node_script);
	pid = begin(command);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	assert_true(follow_perf_map(pid, path, &map));
	assert_int_equal(map.n_bad_lines + map.n_anew + map.n_cut_names, 0);
	assert_true(has_entry(&map, "JS:*spin_of_test "));
	check_against_file(&map, path);
	unlink(path);
}

static void test_jitdumps_of_node_are_read(void **state)
{
	_cleanup_(jitdump_deinit) struct jitdump dump;
	char command[512], path[64];
	pid_t pid;

	jitdump_init(&dump);
	if (system("node --version >/dev/null 2>&1"))
		skip();
	snprintf(command, sizeof(command), "exec node --perf-prof -e %s", node_script);
	pid = begin(command);
	snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, pid);
	assert_true(follow_jitdump(pid, path, &dump));
	assert_int_equal(dump.pid, pid);
	assert_false(dump.has_arch_clock);
	assert_int_equal(dump.n_late + dump.n_unknown + dump.n_anew + dump.n_refused_records, 0);
	assert_int_equal(dump.n_refused_lines, 0);
	assert_true(has_function(&dump, "JS:*spin_of_test "));
	check_first_lines(&dump);
	check_at_once(&dump, path);
}

/* A Python of at least this minor version, from the system or pyenv; false if none. */
static bool find_python(int minor, char *ret, int size)
{
	char command[512];
	FILE *says;
	bool found;

	snprintf(command, sizeof(command),
		 "for python in python3 python3.14 python3.13 python3.12 "
		 "~/.pyenv/versions/*/bin/python3; do $python -c 'import sys; "
		 "sys.exit(sys.version_info < (3, %d))' 2>/dev/null && echo $python && break; done",
		 minor);
	says = popen(command, "re");
	found = says && fgets(ret, size, says);
	ret[found ? strcspn(ret, "\n") : 0] = 0;
	if (says)
		pclose(says);
	return found;
}

static const char python_script[] =
	"'def spin_of_test(n): return sum(range(n))\n"
	"import time\nend = time.time() + 0.5\nwhile time.time() < end: spin_of_test(1000)'";

static void test_perf_maps_of_python_are_read(void **state)
{
	_cleanup_(perf_map_deinit) struct perf_map map = { 0 };
	char command[512], path[64], python[128];
	pid_t pid;

	if (!find_python(12, python, sizeof(python)))
		skip();
	snprintf(command, sizeof(command), "exec %s -X perf -c %s", python, python_script);
	pid = begin(command);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	assert_true(follow_perf_map(pid, path, &map));
	assert_int_equal(map.n_bad_lines + map.n_anew + map.n_cut_names, 0);
	assert_true(has_entry(&map, "py::spin_of_test:"));
	check_against_file(&map, path);
	unlink(path);
}

static void test_jitdumps_of_python_are_read(void **state)
{
	_cleanup_(jitdump_deinit) struct jitdump dump;
	char command[512], path[64], python[128];
	pid_t pid;

	jitdump_init(&dump);
	if (!find_python(13, python, sizeof(python)))
		skip();
	snprintf(command, sizeof(command), "exec %s -X perf_jit -c %s", python, python_script);
	pid = begin(command);
	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", pid);
	assert_true(follow_jitdump(pid, path, &dump));
	assert_int_equal(dump.pid, pid);
	assert_int_equal(dump.n_late + dump.n_unknown + dump.n_anew + dump.n_refused_records, 0);
	assert_true(has_function(&dump, "py::spin_of_test:"));
	check_at_once(&dump, path);
	unlink(path);
}

int main(int argc, char **argv)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_replaced_and_moved_code_is_known_by_time),
		TEST(test_perf_maps_of_node_are_read),
		TEST(test_jitdumps_of_node_are_read),
		TEST(test_perf_maps_of_python_are_read),
		TEST(test_jitdumps_of_python_are_read),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
