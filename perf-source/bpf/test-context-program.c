/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel keeps of processes that publish contexts. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/context.skel.h"

static struct context_program program;
static const struct context_place place = { .kind = CONTEXT_PLACE_STATIC, .offset = -8 };
static const struct walk_program walk = { .lists = { { .window = 8 } } };

/* Starts a child that waits for a byte, and then executes this program, which waits for the next.
 */
static pid_t start_child(int *ret_end)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		close(ends[1]);
		if (read(ends[0], &byte, 1) == 1 && dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
			execl("/proc/self/exe", "again", "wait", NULL);
		_exit(0);
	}
	close(ends[0]);
	*ret_end = ends[1];
	return pid;
}

static void wait_until_forgotten(pid_t pid)
{
	while (context_program_set(&program, pid, &place) != -ENOENT ||
	       context_program_set_walk(&program, pid, &walk) != -ENOENT)
		sched_yield();
}

static void test_an_exec_forgets_the_place(void **state)
{
	int end, status;
	pid_t pid = start_child(&end);

	assert_int_equal(context_program_set(&program, pid, &place), -ENOENT);
	assert_int_equal(context_program_expect(&program, pid), 0);
	assert_int_equal(context_program_expect_walk(&program, pid), 0);
	assert_int_equal(context_program_set(&program, pid, &place), 0);
	assert_int_equal(context_program_set_walk(&program, pid, &walk), 0);
	assert_int_equal(context_program_expect(&program, pid), 0);	 /* keeps it */
	assert_int_equal(context_program_expect_walk(&program, pid), 0); /* keeps it */
	assert_int_equal(write(end, "x", 1), 1);
	wait_until_forgotten(pid);
	close(end);
	waitpid(pid, &status, 0);
}

static void test_an_end_forgets_the_place(void **state)
{
	int end, status;
	pid_t pid = start_child(&end);

	assert_int_equal(context_program_expect(&program, pid), 0);
	assert_int_equal(context_program_expect_walk(&program, pid), 0);
	close(end);
	waitpid(pid, &status, 0);
	wait_until_forgotten(pid);
}

static void test_a_child_has_the_walk_program_and_no_place(void **state)
{
	int end, status;
	pid_t pid;

	assert_int_equal(context_program_expect(&program, getpid()), 0);
	assert_int_equal(context_program_expect_walk(&program, getpid()), 0);
	pid = start_child(&end);
	assert_int_equal(context_program_set_walk(&program, pid, &walk), 0);
	assert_int_equal(context_program_set(&program, pid, &place), -ENOENT);
	close(end);
	waitpid(pid, &status, 0);
	while (context_program_set_walk(&program, pid, &walk) != -ENOENT)
		sched_yield();
}

static void test_a_named_mapping_is_reported(void **state)
{
	size_t size = sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address;
	uint32_t pid;

	if (!program.watches)
		skip(); /* this kernel traces no functions */
	assert_ptr_not_equal(memory, MAP_FAILED);
	prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, size, "another");
	assert_false(context_program_take(&program, &pid, &address));
	for (int i = 0; i < 2; i++)
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, size, "OTEL_CTX");
	assert_true(context_program_take(&program, &pid, &address));
	assert_int_equal(pid, getpid());
	assert_int_equal(address, (uintptr_t)memory);
	assert_false(context_program_take(&program, &pid, &address));
	munmap(memory, size);
}

static int set_up(void **state)
{
	int r = context_program_init(&program, WALK_PROGRAMS_MAX);

	if (r == 0)
		return 0;
	print_message("the kernel lets us load no program: %s\n", strerror(-r));
	exit(77);
}

static int tear_down(void **state)
{
	context_program_deinit(&program);
	return 0;
}

int main(int argc, char **argv)
{
	char byte;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_exec_forgets_the_place),
		cmocka_unit_test(test_an_end_forgets_the_place),
		cmocka_unit_test(test_a_child_has_the_walk_program_and_no_place),
		cmocka_unit_test(test_a_named_mapping_is_reported),
	};

	if (argc > 1) /* the program that a child executes */
		return read(STDIN_FILENO, &byte, 1) < 0;
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
