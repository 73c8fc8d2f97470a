/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/proc/peak-memory.h"

enum { LARGE = 256 * 1024 * 1024, KIB = 1024 };

/* Reaches this much memory once. */
static void touch(size_t size)
{
	char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	memset(pages, 1, size);
	munmap(pages, size);
}

static uint64_t peak(void)
{
	int fd = peak_memory_open();
	uint64_t kib = 0;

	assert_true(fd >= 0);
	assert_int_equal(peak_memory_read(fd, &kib), 0);
	close(fd);
	return kib;
}

static void test_the_peak_is_kept(void **state)
{
	assert_in_range(peak(), 1, LARGE / KIB - 1);
	touch(LARGE);
	assert_in_range(peak(), LARGE / KIB, 2 * LARGE / KIB);
}

/* glibc's posix_spawn(3) uses vfork(2) semantics. */
static void test_the_parents_peak_is_not_inherited(void **state)
{
	char *child[] = { "test-peak-memory", "is-small", NULL };
	pid_t pid;
	int status;

	touch(LARGE);
	assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, child, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_an_unusable_descriptor_is_an_error(void **state)
{
	int pipe_ends[2];
	uint64_t kib;

	assert_true(peak_memory_read(-1, &kib) < 0);
	assert_int_equal(pipe(pipe_ends), 0);
	close(pipe_ends[1]);
	assert_true(peak_memory_read(pipe_ends[0], &kib) < 0);
	close(pipe_ends[0]);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_peak_is_kept),
		cmocka_unit_test(test_the_parents_peak_is_not_inherited),
		cmocka_unit_test(test_an_unusable_descriptor_is_an_error),
	};

	if (argc == 2 && !strcmp(argv[1], "is-small"))
		return peak() >= LARGE / KIB;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
