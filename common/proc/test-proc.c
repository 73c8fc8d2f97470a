/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/proc/proc.h"

static char line[8192];

static bool parse(const char *text, struct proc_mapping *ret)
{
	snprintf(line, sizeof(line), "%s", text);
	return proc_parse_mapping(line, ret);
}

static void check_path(const char *text, const char *expected)
{
	struct proc_mapping mapping;
	char whole[8192];

	snprintf(whole, sizeof(whole), "1000-2000 r-xp 00000000 08:01 42 %20s%s", "", text);
	assert_true(parse(whole, &mapping));
	assert_string_equal(mapping.path, expected);
}

static void test_every_field_of_a_line(void **state)
{
	struct proc_mapping mapping;

	assert_true(parse("7f0011223000-7f0011224000 r-xp 00abc000 fd:1a 18446744073709551615"
			  "                /usr/lib/libc.so.6",
			  &mapping));
	assert_int_equal(mapping.start, 0x7f0011223000);
	assert_int_equal(mapping.end, 0x7f0011224000);
	assert_int_equal(mapping.offset, 0xabc000);
	assert_int_equal(mapping.major, 0xfd);
	assert_int_equal(mapping.minor, 0x1a);
	assert_true(mapping.inode == UINT64_MAX);
	assert_string_equal(mapping.path, "/usr/lib/libc.so.6");
	assert_true(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]",
			  &mapping));
	assert_string_equal(mapping.path, "[vsyscall]");
	assert_true(parse("1000-2000 rwxs 00000000 00:00 0", &mapping));
	assert_string_equal(mapping.path, "");
	assert_true(parse("1000-2000 rwxp 00000000 00:00 0 ", &mapping));
	assert_string_equal(mapping.path, "");
}

static void test_any_path_is_kept_unchanged(void **state)
{
	check_path("/a b  c", "/a b  c");
	check_path("/trailing space ", "/trailing space ");
	check_path("/one\\012two", "/one\ntwo");
	check_path("/\\012\\012x\\012", "/\n\nx\n");
	check_path("/back\\slash\\01", "/back\\slash\\01");
	check_path("/\\\\012", "/\\\n");
	check_path("/bin/x (deleted)", "/bin/x (deleted)");
	check_path("/1000-2000 r-xp 0 08:01 42 /y", "/1000-2000 r-xp 0 08:01 42 /y");
	check_path("/\x01\xff\x1b[31m", "/\x01\xff\x1b[31m");
	check_path("//anon", "//anon");
}

static void test_non_executable_mappings_are_skipped(void **state)
{
	struct proc_mapping mapping;

	assert_false(parse("1000-2000 r--p 00000000 08:01 42 /x", &mapping));
	assert_false(parse("1000-2000 rw-p 00000000 08:01 42 /x", &mapping));
	assert_false(parse("1000-2000 ---p 00000000 00:00 0", &mapping));
}

static void test_garbage_is_skipped(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"\n",
		"x",
		"1000",
		"1000-",
		"1000-2000",
		"1000-2000 r-xp",
		"1000-2000 r-xp 0",
		"1000-2000 r-xp 0 08",
		"1000-2000 r-xp 0 08:",
		"1000-2000 r-xp 0 08:01",
		"1000-2000 r-xp 0 08:01 /x",
		"1000-2000 x 0 08:01 42 /x",
		"1000-2000 r-x 0 08:01 42 /x",
		"2000-1000 r-xp 0 08:01 42 /x",
		"1000-1000 r-xp 0 08:01 42 /x",
		"g000-h000 r-xp 0 08:01 42 /x",
		"1000 2000 r-xp 0 08:01 42 /x",
		"1000-2000 r-xpp 0 08:01 42 /x",
		"Size:                  4 kB",
		"VmFlags: rd ex mr mw me",
	};
	struct proc_mapping mapping;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_false(parse(lines[i], &mapping));
}

static void test_every_truncation_is_refused_or_whole(void **state)
{
	static const char text[] = "7f0011223000-7f0011224000 r-xp 00abc000 fd:1a 42   /usr/lib/x";
	struct proc_mapping mapping;

	for (size_t size = 0; size < sizeof(text); size++) {
		char *cut = malloc(size + 1);

		memcpy(cut, text, size);
		cut[size] = 0;
		if (proc_parse_mapping(cut, &mapping)) {
			assert_int_equal(mapping.start, 0x7f0011223000);
			assert_int_equal(mapping.offset, 0xabc000);
			assert_true(mapping.path >= cut && mapping.path <= cut + size);
		}
		free(cut);
	}
}

static void test_a_path_over_the_limit_is_refused(void **state)
{
	struct proc_mapping mapping;
	char text[8192];
	int at = sprintf(text, "1000-2000 r-xp 00000000 08:01 42 /");

	memset(text + at, 'a', PROC_PATH_MAX);
	text[at + PROC_PATH_MAX - 2] = 0; /* 4095 bytes including the slash */
	assert_true(parse(text, &mapping));
	assert_int_equal(strlen(mapping.path), PROC_PATH_MAX - 1);
	text[at + PROC_PATH_MAX - 2] = 'a';
	text[at + PROC_PATH_MAX - 1] = 0;
	assert_false(parse(text, &mapping));
}

static const struct proc_mapping *find(const struct proc_maps *maps, const void *address)
{
	for (size_t i = 0; i < maps->n; i++)
		if ((uintptr_t)address >= maps->list[i].start &&
		    (uintptr_t)address < maps->list[i].end)
			return &maps->list[i];
	return NULL;
}

static void test_our_own_maps_hold_our_own_code(void **state)
{
	const struct proc_mapping *mapping;
	char path[PROC_PATH_MAX];
	struct proc_maps maps;
	struct stat status;
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(size > 0);
	path[size] = 0;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(proc_read_maps(getpid(), &maps), 0);
	mapping = find(&maps, (void *)(uintptr_t)test_our_own_maps_hold_our_own_code);
	assert_non_null(mapping);
	assert_string_equal(mapping->path, path);
	assert_int_equal(mapping->inode, status.st_ino);
	assert_non_null(find(&maps, (void *)(uintptr_t)getpid)); /* libc */
	assert_null(find(&maps, &maps));			 /* the stack is not executable */
	assert_int_equal(maps.n_refused, 0);
	proc_maps_deinit(&maps);
	assert_null(maps.list);
}

/* The kernel's text also has [vsyscall], which all can execute and none has mapped. */
static bool is_vsyscall(const struct proc_mapping *mapping)
{
	return !strcmp(mapping->path, "[vsyscall]");
}

/* An open maps file can be read again until the process executes another program. */
static void test_open_maps_are_those_of_one_program(void **state)
{
	int to_child[2], fd, status;
	struct proc_maps maps;
	char path[64];
	pid_t pid;

	assert_int_equal(pipe2(to_child, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		char byte;

		close(to_child[1]);
		if (read(to_child[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "1000", NULL);
		_exit(1);
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(proc_read_open_maps(fd, &maps), 0);
		assert_non_null(find(&maps, (void *)(uintptr_t)getpid));
		proc_maps_deinit(&maps);
	}
	assert_int_equal(write(to_child[1], "", 1), 1);
	do {
		assert_int_equal(proc_read_open_maps(fd, &maps), 0);
		status = maps.n;
		proc_maps_deinit(&maps);
	} while (status);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	assert_int_equal(proc_read_open_maps(fd, &maps), 0);
	assert_int_equal(maps.n, 0);
	close(fd);
	close(to_child[0]);
	close(to_child[1]);
}

static void test_ioctl_and_text_of_maps_agree(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	struct proc_maps asked, read = { 0 };
	size_t n = 0;

	assert_true(fd >= 0);
	assert_int_equal(proc_read_maps(getpid(), &asked), 0);
	assert_int_equal(proc_read_maps_text(fd, &read), 0);
	close(fd);
	for (size_t i = 0; i < read.n; i++) {
		const struct proc_mapping *left = &asked.list[n], *right = &read.list[i];

		if (is_vsyscall(right) && (n == asked.n || !is_vsyscall(left)))
			continue;
		assert_true(n++ < asked.n);
		assert_int_equal(left->start, right->start);
		assert_int_equal(left->end, right->end);
		assert_int_equal(left->offset, right->offset);
		assert_int_equal(left->major, right->major);
		assert_int_equal(left->minor, right->minor);
		assert_int_equal(left->inode, right->inode);
		assert_string_equal(left->path, right->path);
	}
	assert_int_equal(n, asked.n);
	assert_true(n > 3);
	proc_maps_deinit(&asked);
	proc_maps_deinit(&read);
}

/* A file name that makes its line look like two. */
static void test_a_newline_in_a_path_makes_no_second_line(void **state)
{
	char path[] = "/tmp/stackpipe-XXXXXX\n400000-401000 r-xp 0 08:01 7 ";
	const struct proc_mapping *mapping;
	struct proc_maps maps;
	int fd = mkostemps(path, strlen(path) - 21, 0);
	void *memory;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4096), 0);
	memory = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if (memory == MAP_FAILED) { /* /tmp is mounted noexec */
		unlink(path);
		close(fd);
		skip();
	}
	assert_int_equal(proc_read_maps(getpid(), &maps), 0);
	mapping = find(&maps, memory);
	assert_non_null(mapping);
	assert_string_equal(mapping->path, path);
	for (size_t i = 0; i < maps.n; i++)
		assert_false(maps.list[i].start == 0x400000 && maps.list[i].inode == 7);
	proc_maps_deinit(&maps);
	munmap(memory, 4096);
	unlink(path);
	close(fd);
}

static void test_a_missing_process_is_an_error(void **state)
{
	struct proc_maps maps = { 0 };
	char name[PROC_NAME_MAX] = "x";

	assert_int_equal(proc_read_maps(UINT32_MAX, &maps), -ENOENT);
	assert_null(maps.list);
	proc_read_name(UINT32_MAX, name);
	assert_string_equal(name, "");
}

static void test_a_name_may_hold_anything(void **state)
{
	char name[PROC_NAME_MAX];

	prctl(PR_SET_NAME, "a b\n) R 1\n");
	proc_read_name(getpid(), name);
	assert_string_equal(name, "a b\n) R 1\n");
	prctl(PR_SET_NAME, "");
	proc_read_name(getpid(), name);
	assert_string_equal(name, "");
	prctl(PR_SET_NAME, "0123456789abcdefgh");
	proc_read_name(getpid(), name);
	assert_string_equal(name, "0123456789abcde");
}

static void test_a_process_starts_when_it_is_forked(void **state)
{
	const uint64_t tick = NANOSECONDS_A_SECOND / sysconf(_SC_CLK_TCK);
	uint64_t before = clock_now(CLOCK_MONOTONIC), start, value;
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, "a b) R 1 1");
		pause();
	}
	assert_int_equal(proc_find_own_pid(child), child);
	start = proc_find_start(child);
	assert_true(start + 2 * tick > before);
	assert_true(start <= clock_now(CLOCK_MONOTONIC));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(proc_find_start(child), 0);
	assert_false(proc_parse_start("1 (name) R 1 2", &value));
}

static int find_number(uint32_t number, void *arg)
{
	uint32_t *wanted = arg;

	if (number == wanted[0])
		wanted[1]++;
	return 0;
}

static int refuse(uint32_t number, void *arg)
{
	return -ECANCELED;
}

static void test_threads_and_processes_are_listed(void **state)
{
	uint32_t wanted[2] = { getpid(), 0 };

	assert_int_equal(proc_each_thread(getpid(), find_number, wanted), 1);
	assert_int_equal(wanted[1], 1);
	assert_true(proc_each_process(find_number, wanted) >= 1);
	assert_int_equal(wanted[1], 2);
	assert_int_equal(proc_each_process(refuse, NULL), -ECANCELED);
	assert_int_equal(proc_each_thread(UINT32_MAX, find_number, wanted), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_field_of_a_line),
		cmocka_unit_test(test_any_path_is_kept_unchanged),
		cmocka_unit_test(test_non_executable_mappings_are_skipped),
		cmocka_unit_test(test_garbage_is_skipped),
		cmocka_unit_test(test_every_truncation_is_refused_or_whole),
		cmocka_unit_test(test_a_path_over_the_limit_is_refused),
		cmocka_unit_test(test_our_own_maps_hold_our_own_code),
		cmocka_unit_test(test_open_maps_are_those_of_one_program),
		cmocka_unit_test(test_ioctl_and_text_of_maps_agree),
		cmocka_unit_test(test_a_newline_in_a_path_makes_no_second_line),
		cmocka_unit_test(test_a_missing_process_is_an_error),
		cmocka_unit_test(test_a_name_may_hold_anything),
		cmocka_unit_test(test_a_process_starts_when_it_is_forked),
		cmocka_unit_test(test_threads_and_processes_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
