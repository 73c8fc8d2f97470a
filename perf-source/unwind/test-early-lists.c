/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of processes by records that the stream has not reached, as they are told to the kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "perf-source/unwind/early-lists.h"

enum { PIDS = 256, PAGE = 4096, EXEC = 1 << 13 /* PERF_RECORD_MISC_COMM_EXEC */ };

/* As the kernel has them. */
static struct told {
	size_t n, n_times;
	struct unwind_mapping mappings[EARLY_MAPPINGS_MAX];
} told[PIDS];
static uint32_t removed, covered, checked, shared_from, shared_with;

uint64_t __wrap_processes_known_image(const struct processes *processes,
				      const struct perf_record_mmap2 *mmap);
uint32_t __wrap_table_slots_find(struct table_slots *slots, uint64_t image);
int __wrap_mapping_lists_set(struct mapping_lists *lists, uint32_t pid,
			     const struct unwind_mapping *mappings, size_t n);
void __wrap_mapping_lists_share(struct mapping_lists *lists, uint32_t from, uint32_t pid);
void __wrap_mapping_lists_remove(struct mapping_lists *lists, uint32_t pid);
void __wrap_mapping_lists_cover(struct mapping_lists *lists, uint32_t pid, uint64_t start,
				uint64_t end);
void __wrap_table_slots_check(struct table_slots *slots, uint64_t image);

/* The inode is the image. */
uint64_t __wrap_processes_known_image(const struct processes *processes,
				      const struct perf_record_mmap2 *mmap)
{
	return mmap->inode;
}

uint32_t __wrap_table_slots_find(struct table_slots *slots, uint64_t image)
{
	return image;
}

int __wrap_mapping_lists_set(struct mapping_lists *lists, uint32_t pid,
			     const struct unwind_mapping *mappings, size_t n)
{
	told[pid].n = n;
	told[pid].n_times++;
	memcpy(told[pid].mappings, mappings, n * sizeof(*mappings));
	return 0;
}

void __wrap_mapping_lists_share(struct mapping_lists *lists, uint32_t from, uint32_t pid)
{
	shared_from = from;
	shared_with = pid;
}

void __wrap_mapping_lists_remove(struct mapping_lists *lists, uint32_t pid)
{
	removed = pid;
	told[pid].n = 0;
}

void __wrap_mapping_lists_cover(struct mapping_lists *lists, uint32_t pid, uint64_t start,
				uint64_t end)
{
	assert_int_equal(end - start, PAGE);
	covered = pid;
}

void __wrap_table_slots_check(struct table_slots *slots, uint64_t image)
{
	checked = image;
}

static struct early_lists early;

static int set_up(void **state)
{
	early_lists_init(&early, NULL, NULL, NULL);
	memset(told, 0, sizeof(told));
	removed = covered = checked = shared_from = shared_with = 0;
	return 0;
}

static void execute(uint32_t pid, uint16_t misc)
{
	const struct perf_record_comm record = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(record), .misc = misc },
		.pid = pid,
	};

	early_lists_take(&early, &record.header);
}

static void map(uint32_t pid, uint64_t page, uint64_t n_pages, uint64_t image)
{
	const struct perf_record_mmap2 record = {
		.header = { .type = PERF_RECORD_MMAP2, .size = sizeof(record) },
		.pid = pid,
		.start = page * PAGE,
		.length = n_pages * PAGE,
		.offset = PAGE,
		.inode = image,
	};

	early_lists_take(&early, &record.header);
}

static void check(uint32_t pid, const uint32_t *images, size_t n)
{
	assert_int_equal(early_lists_publish(&early), 0);
	assert_int_equal(told[pid].n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(told[pid].mappings[i].image, images[i]);
		assert_true(!i || told[pid].mappings[i].start >= told[pid].mappings[i - 1].end);
	}
}

#define CHECK(pid, ...)                                                                            \
	check(pid, (const uint32_t[]){ __VA_ARGS__ },                                              \
	      sizeof((const uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

static void test_an_executed_program_has_what_it_maps(void **state)
{
	execute(1, EXEC);
	map(1, 30, 2, 3);
	map(1, 10, 2, 1);
	map(1, 20, 2, 2);
	map(1, 40, 2, 0); /* not known yet */
	CHECK(1, 1, 2, 3);
	assert_int_equal(told[1].mappings[0].offset, PAGE);
	map(1, 21, 1, 4);
	CHECK(1, 1, 4, 3);
	execute(1, EXEC);
	assert_int_equal(removed, 1);
	assert_int_equal(early_lists_publish(&early), 0);
	assert_int_equal(told[1].n, 0);
}

static void test_the_kernel_is_told_what_changed(void **state)
{
	execute(1, EXEC);
	execute(2, EXEC);
	map(1, 10, 1, 1);
	CHECK(1, 1);
	map(2, 10, 1, 2);
	CHECK(2, 2);
	assert_int_equal(told[1].n_times, 1);
	assert_int_equal(told[2].n_times, 1);
}

static void test_others_are_the_streams(void **state)
{
	map(1, 10, 1, 1); /* it was there before */
	execute(2, 0);	  /* has another name */
	map(2, 10, 1, 1);
	execute(3, EXEC);
	early_lists_give_up(&early, 3);
	assert_false(early_lists_have(&early, 3));
	map(3, 10, 1, 1);
	assert_int_equal(early_lists_publish(&early), 0);
	for (size_t i = 0; i < PIDS; i++)
		assert_int_equal(told[i].n_times, 0);
}

static void test_others_are_doubted_where_they_change(void **state)
{
	map(1, 10, 1, 3);
	assert_int_equal(covered, 1);
	assert_int_equal(checked, 3);
	execute(2, EXEC);
	map(2, 10, 1, 4); /* its list is made here */
	assert_int_equal(covered, 1);
	assert_int_equal(checked, 4);
	map(1, 10, 1, 0); /* a file that is not known */
	assert_int_equal(checked, 4);
}

static void test_a_child_has_its_parents_mappings(void **state)
{
	struct perf_record_task record = {
		.header = { .type = PERF_RECORD_FORK, .size = sizeof(record) },
		.pid = 5,
		.parent_pid = 5,
	};

	early_lists_take(&early, &record.header); /* a thread */
	assert_int_equal(shared_with, 0);
	record.pid = 6;
	early_lists_take(&early, &record.header);
	assert_int_equal(shared_from, 5);
	assert_int_equal(shared_with, 6);
}

static void test_limits(void **state)
{
	for (uint32_t pid = 1; pid <= EARLY_LISTS_MAX + 1; pid++)
		execute(pid, EXEC);
	assert_false(early_lists_have(&early, 1));
	assert_true(early_lists_have(&early, 2));
	for (uint64_t i = 0; i < EARLY_MAPPINGS_MAX + 10; i++)
		map(2, 2 * i, 1, 7);
	assert_int_equal(early_lists_publish(&early), 0);
	assert_int_equal(told[2].n, EARLY_MAPPINGS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_an_executed_program_has_what_it_maps, set_up),
		cmocka_unit_test_setup(test_the_kernel_is_told_what_changed, set_up),
		cmocka_unit_test_setup(test_others_are_the_streams, set_up),
		cmocka_unit_test_setup(test_others_are_doubted_where_they_change, set_up),
		cmocka_unit_test_setup(test_a_child_has_its_parents_mappings, set_up),
		cmocka_unit_test_setup(test_limits, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
