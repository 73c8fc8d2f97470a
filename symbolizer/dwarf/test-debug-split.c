/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
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

#include "symbolizer/dwarf/debug-split.h"

static char dir[64], program[80], split_path[80];
static const struct debug_dirs no_dirs;
static int fd;
static Dwarf *dwarf;
static Dwarf_CU *unit;
static Dwarf_Die skeleton;

static int set_up(void **state)
{
	char command[512];

	strcpy(dir, "/tmp/stackpipe-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(split_path, sizeof(split_path), "%s/program.dwo", dir);
	snprintf(command, sizeof(command),
		 "cd %s && echo 'int main(void) { return 0; }' >program.c && "
		 "cc -g -gdwarf-5 -gsplit-dwarf -c program.c && cc -o program program.o",
		 dir);
	assert_int_equal(system(command), 0);
	fd = open(program, O_RDONLY | O_CLOEXEC);
	dwarf = dwarf_begin(fd, DWARF_C_READ);
	assert_non_null(dwarf);
	do {
		assert_int_equal(dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &skeleton, NULL),
				 0);
	} while (!dwarf_hasattr(&skeleton, DW_AT_dwo_name));
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	unit = NULL;
	dwarf_end(dwarf);
	close(fd);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command);
}

/* Loads the split unit as libdw does, whatever file is there by then. */
static Dwarf *let_it_look(void)
{
	Dwarf_Die die;

	assert_int_equal(dwarf_cu_info(unit, NULL, NULL, NULL, &die, NULL, NULL, NULL), 0);
	assert_non_null(die.addr);
	return dwarf_cu_getdwarf(die.cu);
}

static void test_the_checked_file_is_used(void **state)
{
	struct debug_split split;

	assert_true(debug_split_find(&skeleton, fd, &no_dirs, &split));
	assert_int_equal(split.n_files, 2); /* beside the program and where it was built */
	assert_true(debug_split_has_found(&split, let_it_look()));
	debug_split_deinit(&split);
	assert_int_equal(split.n_files, 0);
}

/* The directory's owner replaces the file just after it was checked. */
static void test_a_file_replaced_since_is_not_trusted(void **state)
{
	struct debug_split split;
	char command[256];

	assert_true(debug_split_find(&skeleton, fd, &no_dirs, &split));
	snprintf(command, sizeof(command), "sed -i 's/main/evil/g' %s", split_path);
	assert_int_equal(system(command), 0);
	assert_false(debug_split_has_found(&split, let_it_look()));
	debug_split_deinit(&split);
}

static void test_world_writable_split_files_are_refused(void **state)
{
	struct debug_split split;

	assert_int_equal(chmod(split_path, 0646), 0);
	assert_false(debug_split_find(&skeleton, fd, &no_dirs, &split));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_checked_file_is_used),
		TEST(test_a_file_replaced_since_is_not_trusted),
		TEST(test_world_writable_split_files_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
