/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the program of a sampling event decides, by the kernel, for this task in many guises. The
 * kernel lets no program of an event be tried (BPF_PROG_TEST_RUN), so libbpf loads it as one of a
 * raw tracepoint, which is run for the current task.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "perf-source/bpf/pid-namespace.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/bpf/sample-program.h"

enum { ROUNDS = 40, TASKS_A_ROUND = 100, VALUES = 5, GROUP_MAX = 4 };

int __real_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);
int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton);

static bool is_for_events; /* load it as it is */

int __wrap_bpf_object__load_skeleton(struct bpf_object_skeleton *skeleton)
{
	if (!is_for_events && !strcmp(skeleton->name, "sample_bpf"))
		bpf_program__set_type(*skeleton->progs[0].prog, BPF_PROG_TYPE_RAW_TRACEPOINT);
	return __real_bpf_object__load_skeleton(skeleton);
}

/* The current task. */
struct task {
	uint32_t uid, gid;
	const char *comm;
};

static const char *const comms[VALUES] = { "a", "cc1", "fifteen letters", "Web Content",
					   "\xff\xfe" };
static const uint32_t ids[VALUES] = { 0, 1, 77, 0x80000000, UINT32_MAX - 1 };

/* The effective user stays, and with it the right to run programs. */
static void become(const struct task *task)
{
	assert_int_equal(setresgid(task->gid, -1, -1), 0);
	assert_int_equal(setresuid(task->uid, -1, -1), 0);
	prctl(PR_SET_NAME, task->comm);
}

static struct task random_task(void)
{
	return (struct task){ ids[rand() % VALUES], ids[rand() % VALUES], comms[rand() % VALUES] };
}

static struct sample_term random_term(void)
{
	struct sample_term term = { .field = rand() % SAMPLE_CGROUP,
				    .is_equal = rand() % 2,
				    .ends_group = rand() % GROUP_MAX == 0 };
	uint32_t own[] = { getpid(), gettid() };

	if (term.field == SAMPLE_COMM)
		strcpy(term.comm, comms[rand() % VALUES]);
	else if (term.field == SAMPLE_PID || term.field == SAMPLE_TID)
		term.number = own[rand() % 2];
	else
		term.number = ids[rand() % VALUES];
	return term;
}

static bool holds(const struct sample_term *term, const struct task *task)
{
	const uint32_t of_task[] = { getpid(), gettid(), task->uid, task->gid };
	bool is_same = term->field == SAMPLE_COMM ? !strcmp(task->comm, term->comm)
						  : of_task[term->field] == term->number;

	return is_same == term->is_equal;
}

/* Every group must have a term that holds. */
static bool is_wanted(const struct sample_term *terms, size_t n, const struct task *task)
{
	bool group = false, all = true;

	for (size_t i = 0; i < n; i++) {
		group |= holds(&terms[i], task);
		if (!terms[i].ends_group)
			continue;
		all &= group;
		group = false;
	}
	return all;
}

static void load(struct sample_program *program, const struct sample_term *terms, size_t n,
		 const struct follow_program *follow)
{
	const struct sample_settings settings = { terms, n, follow, NULL };

	*program = (struct sample_program){ 0 };
	assert_int_equal(sample_program_load(program, &settings), 0);
}

/* Whether the kernel takes a sample of this task. */
static bool run(const struct sample_program *program)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	assert_int_equal(bpf_prog_test_run_opts(sample_program_fd(program), &options), 0);
	return options.retval;
}

static void *compare(void *arg)
{
	const struct follow_program none = { 0 };

	for (int round = 0; round < ROUNDS; round++) {
		struct sample_term terms[SAMPLE_TERMS_MAX];
		size_t n = 1 + rand() % SAMPLE_TERMS_MAX;
		struct sample_program program;
		uint64_t n_unwanted = 0;

		for (size_t i = 0; i < n; i++)
			terms[i] = random_term();
		terms[n - 1].ends_group = true;
		load(&program, terms, n, &none);
		for (int i = 0; i < TASKS_A_ROUND; i++) {
			struct task task = random_task();
			bool wanted = is_wanted(terms, n, &task);

			become(&task);
			n_unwanted += !wanted;
			if (run(&program) != wanted)
				fail_msg("round %d, task %d: uid %u, gid %u, comm '%s': not %d",
					 round, i, task.uid, task.gid, task.comm, wanted);
		}
		assert_int_equal(sample_program_count_skipped(&program), n_unwanted);
		sample_program_unload(&program);
		assert_int_equal(sample_program_count_skipped(&program), 0);
	}
	become(&(struct task){ 0, 0, "test" });
	return NULL;
}

/* In the first thread, whose TID is the PID, and in another one. */
static void test_programs_decide_by_their_terms(void **state)
{
	pthread_t thread;

	srand(1);
	compare(NULL);
	assert_int_equal(pthread_create(&thread, NULL, compare, NULL), 0);
	pthread_join(thread, NULL);
}

static bool decides(struct sample_term term)
{
	const struct follow_program none = { 0 };
	struct sample_program program;
	bool is_taken;

	term.ends_group = true;
	load(&program, &term, 1, &none);
	is_taken = run(&program);
	sample_program_unload(&program);
	return is_taken;
}

static void test_a_comm_is_compared_to_its_end(void **state)
{
	prctl(PR_SET_NAME, "cc1plus");
	assert_true(decides((struct sample_term){ SAMPLE_COMM, true, .comm = "cc1plus" }));
	assert_false(decides((struct sample_term){ SAMPLE_COMM, true, .comm = "cc1" }));
	prctl(PR_SET_NAME, "fifteen letters");
	assert_true(decides((struct sample_term){ SAMPLE_COMM, true, .comm = "fifteen letters" }));
	assert_false(decides((struct sample_term){ SAMPLE_COMM, true, .comm = "fifteen letterz" }));
}

/* A task has no group at a level that is deeper than its own: the number is then 0. */
static void test_groups_are_compared_at_their_level(void **state)
{
	for (uint32_t is_equal = 0; is_equal < 2; is_equal++) {
		struct sample_term term = { SAMPLE_CGROUP, is_equal, .level = 1000 };

		assert_int_equal(decides(term), is_equal);
		term.number = 9;
		assert_int_equal(decides(term), !is_equal);
	}
}

/* Samples of processes that are not followed are not counted. */
static void test_only_followed_processes_are_filtered(void **state)
{
	const struct sample_term term = { SAMPLE_UID, true, true, .number = 77 };
	struct follow_program follow;
	struct sample_program program, all;

	assert_int_equal(follow_program_init(&follow), 0);
	load(&program, &term, 1, &follow);
	load(&all, NULL, 0, &follow);
	assert_false(run(&program));
	assert_false(run(&all));
	assert_int_equal(sample_program_count_skipped(&program), 0);
	assert_int_equal(follow_program_add(&follow, getpid()), 0);
	assert_false(run(&program));
	assert_true(run(&all));
	assert_int_equal(sample_program_count_skipped(&program), 1);
	become(&(struct task){ 77, 0, "test" });
	assert_true(run(&program));
	become(&(struct task){ 0, 0, "test" });
	sample_program_unload(&program);
	sample_program_unload(&all);
	follow_program_deinit(&follow);
}

static void test_an_event_takes_the_longest_one(void **state)
{
	const struct follow_program none = { 0 };
	struct sample_term terms[SAMPLE_TERMS_MAX];
	struct sample_program program;

	for (size_t i = 0; i < SAMPLE_TERMS_MAX; i++)
		terms[i] = (struct sample_term){ SAMPLE_COMM, false, i % 2, .comm = "a" };
	is_for_events = true;
	load(&program, terms, SAMPLE_TERMS_MAX, &none);
	assert_true(sample_program_fd(&program) >= 0);
	sample_program_unload(&program);
	is_for_events = false;
}

static void test_an_event_takes_one_that_reads_stacks(void **state)
{
	const struct follow_program none = { 0 };
	const struct sample_settings settings = { .follow = &none,
						  .stack_size = SAMPLE_PART_MAX,
						  .stack_limit = 64 << 20 };
	struct sample_program program = { 0 };

	is_for_events = true;
	assert_int_equal(sample_program_load(&program, &settings), 0);
	assert_true(sample_program_fd(&program) >= 0);
	assert_int_equal(sample_program_set_output(&program, RING_SHARE_CPUS_MAX, -1), -E2BIG);
	sample_program_unload(&program);
	is_for_events = false;
}

static int skip_without_bpf(void **state)
{
	const struct follow_program none = { 0 };
	struct sample_program program = { 0 };
	int r = sample_program_load(&program, &(struct sample_settings){ .follow = &none });

	sample_program_unload(&program);
	if (r == 0 && pid_namespace_is_initial())
		return 0;
	print_message("the kernel lets us load no program that knows us: %s\n", strerror(-r));
	exit(77);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs_decide_by_their_terms),
		cmocka_unit_test(test_a_comm_is_compared_to_its_end),
		cmocka_unit_test(test_groups_are_compared_at_their_level),
		cmocka_unit_test(test_only_followed_processes_are_filtered),
		cmocka_unit_test(test_an_event_takes_the_longest_one),
		cmocka_unit_test(test_an_event_takes_one_that_reads_stacks),
	};

	return cmocka_run_group_tests(tests, skip_without_bpf, NULL);
}
