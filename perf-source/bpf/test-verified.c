/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many instructions the kernel follows until it lets a program run. It follows each branch of
 * each turn of a loop, and compares what it has seen before: some other way of a compiler can make
 * milliseconds minutes. What compilers of different age make of the programs must stay far below
 * the kernel's limit of a million.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "perf-source/bpf/context.skel.h"
#include "perf-source/bpf/follow.skel.h"
#include "perf-source/bpf/sample-program.h"
#include "perf-source/bpf/sample.skel.h"
#include "perf-source/bpf/switch-program.h"
#include "perf-source/bpf/switch.skel.h"

libbpf_print_fn_t __wrap_libbpf_set_print(libbpf_print_fn_t print);

/* The log of a program that the kernel rejects is printed. */
libbpf_print_fn_t __wrap_libbpf_set_print(libbpf_print_fn_t print)
{
	return NULL;
}

/* Linux 6.19 follows several times as many as others: loops of loops are what it follows most. */
enum { VERIFIED_MAX = 200000, STACK = 65528, STACK_LIMIT = 8 << 20 };

static void check_program(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0) /* not loaded, as it is not needed */
		return;
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &size), 0);
	print_message("%s: %u instructions\n", bpf_program__name(program), info.verified_insns);
	assert_in_range(info.verified_insns, 1, VERIFIED_MAX);
}

static void check_all(const struct bpf_object *object)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) check_program(program);
}

static void test_programs_of_contexts(void **state)
{
	struct context_program program;

	assert_int_equal(context_program_init(&program, WALK_PROGRAMS_MAX), 0);
	check_all(program.skeleton->obj);
	context_program_deinit(&program);
}

static void check_sample_program(const struct sample_settings *settings)
{
	struct sample_program program;

	assert_int_equal(sample_program_load(&program, settings), 0);
	check_all(program.skeleton->obj);
	sample_program_unload(&program);
}

static void test_programs_of_samples(void **state)
{
	const struct sample_term terms[SAMPLE_TERMS_MAX] = { { .field = SAMPLE_COMM } };
	struct follow_program follow;
	struct context_program contexts;

	assert_int_equal(follow_program_init(&follow), 0);
	assert_int_equal(context_program_init(&contexts, WALK_PROGRAMS_MAX), 0);
	check_all(follow.skeleton->obj);
	for (int i = 0; i < 16; i++)
		check_sample_program(&(struct sample_settings){
			.terms = terms,
			.n = SAMPLE_TERMS_MAX,
			.follow = &follow,
			.contexts = i & 1 ? &contexts : NULL,
			.has_walks = i & 2,
			.stack_size = i & 4 ? STACK : 0,
			.stack_limit = i & 4 ? STACK_LIMIT : 0,
			.walks_stacks = i & 8,
		});
	context_program_deinit(&contexts);
	follow_program_deinit(&follow);
}

static void test_programs_of_switches(void **state)
{
	struct context_program contexts;

	assert_int_equal(context_program_init(&contexts, WALK_PROGRAMS_MAX), 0);
	for (int i = 0; i < 4; i++) {
		const struct switch_program_settings settings = {
			.contexts = i & 1 ? &contexts : NULL,
			.has_walks = i & 2,
		};
		struct switch_program program;

		assert_int_equal(switch_program_init(&program, &settings), 0);
		check_all(program.skeleton->obj);
		switch_program_deinit(&program);
	}
	context_program_deinit(&contexts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs_of_contexts),
		cmocka_unit_test(test_programs_of_samples),
		cmocka_unit_test(test_programs_of_switches),
	};

	if (geteuid()) {
		puts("skipped: it takes root");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
