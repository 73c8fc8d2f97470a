/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel is told of processes' mappings, by the functions that tell it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "perf-source/unwind/mapping-lists.h"

enum { PIDS = 64 };

/* As the kernel has it. */
static struct unwind_process told[PIDS];
static bool is_full;

int __wrap_unwind_program_set(const struct unwind_program *unwind, uint32_t pid,
			      const struct unwind_process *process);
void __wrap_unwind_program_remove(const struct unwind_program *unwind, uint32_t pid);

int __wrap_unwind_program_set(const struct unwind_program *unwind, uint32_t pid,
			      const struct unwind_process *process)
{
	if (is_full)
		return -E2BIG;
	told[pid] = *process;
	return 0;
}

void __wrap_unwind_program_remove(const struct unwind_program *unwind, uint32_t pid)
{
	told[pid] = (struct unwind_process){ 0 };
}

struct scene {
	struct unwind_program program;
	struct mapping_lists lists;
};

static int set_up(void **state)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	memset(told, 0, sizeof(told));
	is_full = false;
	scene->program.mappings = calloc(UNWIND_MAPPINGS_MAX, sizeof(*scene->program.mappings));
	mapping_lists_init(&scene->lists, &scene->program);
	*state = scene;
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	mapping_lists_deinit(&scene->lists);
	free(scene->program.mappings);
	free(scene);
	return 0;
}

/* Sets a list of n mappings, which are told from those of other lists by `first`. */
static void set(struct scene *scene, uint32_t pid, uint64_t first, size_t n)
{
	struct unwind_mapping *mappings = calloc(n ? n : 1, sizeof(*mappings));

	for (size_t i = 0; i < n; i++)
		mappings[i] = (struct unwind_mapping){ .start = first + i, .end = first + i + 1 };
	assert_int_equal(mapping_lists_set(&scene->lists, pid, mappings, n), 0);
	free(mappings);
}

static void check(const struct scene *scene, uint32_t pid, uint64_t first, size_t n)
{
	assert_int_equal(told[pid].n, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(scene->program.mappings[told[pid].first + i].start, first + i);
}

static void test_lists_do_not_overlap(void **state)
{
	for (uint32_t pid = 1; pid < PIDS; pid++)
		set(*state, pid, pid * 1000, pid * 9 % 50);
	for (uint32_t pid = 1; pid < PIDS; pid++) {
		check(*state, pid, pid * 1000, pid * 9 % 50);
		for (uint32_t other = 1; other < pid; other++)
			assert_int_not_equal(told[pid].number, told[other].number);
	}
}

static void test_a_new_list_is_elsewhere(void **state)
{
	struct unwind_process before;

	set(*state, 1, 1000, 8);
	before = told[1];
	set(*state, 1, 1000, 8); /* it is the same */
	assert_memory_equal(&before, &told[1], sizeof(before));
	set(*state, 1, 2000, 8);
	assert_int_not_equal(told[1].first, before.first);
	assert_int_not_equal(told[1].number, before.number);
	check(*state, 1, 2000, 8);
}

static void test_places_are_used_again_once_all_were(void **state)
{
	struct scene *scene = *state;
	uint32_t last = UNWIND_MAPPINGS_MAX;

	for (uint64_t i = 0; i < 3 * (UNWIND_MAPPINGS_MAX / UNWIND_MAPPINGS_OF_ONE); i++) {
		set(scene, 1, i * UNWIND_MAPPINGS_MAX, UNWIND_MAPPINGS_OF_ONE);
		check(scene, 1, i * UNWIND_MAPPINGS_MAX, UNWIND_MAPPINGS_OF_ONE);
		assert_int_not_equal(told[1].first, last);
		last = told[1].first;
	}
	assert_int_equal(scene->lists.n_refused, 0);
}

static void test_a_child_has_its_parents_list(void **state)
{
	struct scene *scene = *state;

	set(scene, 1, 1000, 20);
	mapping_lists_share(&scene->lists, 1, 2);
	check(scene, 2, 1000, 20);
	assert_int_not_equal(told[1].first, told[2].first);
	set(scene, 1, 2000, 3);
	check(scene, 2, 1000, 20);
	mapping_lists_share(&scene->lists, 1, 2); /* it has its own */
	check(scene, 2, 1000, 20);
	mapping_lists_share(&scene->lists, 3, 4); /* nobody has one */
	assert_false(mapping_lists_have(&scene->lists, 4));
}

static void test_without_room_there_is_no_list(void **state)
{
	struct scene *scene = *state;
	uint32_t pid = 1;

	set(scene, pid, 1000, UNWIND_MAPPINGS_OF_ONE + 1);
	assert_int_equal(told[pid].number, 0);
	assert_int_equal(scene->lists.n_refused, 1);
	while (scene->lists.n_refused < 2 && pid < PIDS - 1) {
		pid++;
		set(scene, pid, pid, UNWIND_MAPPINGS_OF_ONE);
	}
	assert_int_equal(pid, UNWIND_MAPPINGS_MAX / UNWIND_MAPPINGS_OF_ONE + 2);
	assert_false(mapping_lists_have(&scene->lists, pid));
	mapping_lists_remove(&scene->lists, pid - 1);
	set(scene, pid, pid, UNWIND_MAPPINGS_OF_ONE);
	check(scene, pid, pid, UNWIND_MAPPINGS_OF_ONE);
}

static void test_what_the_kernel_refuses_is_no_list(void **state)
{
	struct scene *scene = *state;

	set(scene, 1, 1000, 3);
	is_full = true;
	set(scene, 1, 2000, 3);
	assert_false(mapping_lists_have(&scene->lists, 1));
	assert_int_equal(told[1].number, 0);
}

static void test_a_list_whose_mappings_are_covered_is_removed(void **state)
{
	struct scene *scene = *state;

	set(scene, 1, 100, 3); /* from 100 to 103 */
	mapping_lists_cover(&scene->lists, 2, 0, UINT64_MAX);
	mapping_lists_cover(&scene->lists, 1, 103, 200);
	mapping_lists_cover(&scene->lists, 1, 0, 100);
	check(scene, 1, 100, 3);
	assert_true(mapping_lists_have(&scene->lists, 1));
	mapping_lists_cover(&scene->lists, 1, 102, 103);
	assert_false(mapping_lists_have(&scene->lists, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists_do_not_overlap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_new_list_is_elsewhere, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_places_are_used_again_once_all_were, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_list_whose_mappings_are_covered_is_removed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_child_has_its_parents_list, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_without_room_there_is_no_list, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_what_the_kernel_refuses_is_no_list, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
