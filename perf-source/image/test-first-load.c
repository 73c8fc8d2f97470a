/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <unistd.h>

#include "perf-source/image/first-load.h"

extern char __executable_start;
extern int variable, *where; /* as the GOT has it */
extern char loads_it[], loads_after_entry[], loads_in_frame[], loads_by_got[], loads_elsewhere[],
	does_not[];

int variable, *where = &variable;

__asm__("loads_it: mov variable(%rip),%edi\n"
	"	ret\n"
	"loads_after_entry: endbr64\n"
	"	mov variable(%rip),%rax\n"
	"	ret\n"
	"loads_in_frame: endbr64\n"
	"	push %rbp\n"
	"	mov %rsp,%rbp\n"
	"	mov variable(%rip),%rax\n"
	"	pop %rbp\n"
	"	ret\n"
	"loads_by_got: mov where(%rip),%rax\n"
	"	mov (%rax),%edi\n"
	"	ret\n"
	"loads_elsewhere: mov 8(%rdi),%rax\n"
	"	ret\n"
	"does_not: push %rbp\n"
	"	pop %rbp\n"
	"	ret\n"
	"	.fill 16\n");

static struct elf_image file;
static struct loaded_image image;

static int set_up(void **state)
{
	assert_int_equal(
		elf_image_open_descriptor(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), 0, &file),
		ELF_IMAGE_OK);
	image = (struct loaded_image){ &file, (uintptr_t)&__executable_start - file.low,
				       open("/proc/self/mem", O_RDONLY | O_CLOEXEC) };
	return image.memory < 0;
}

static int tear_down(void **state)
{
	close(image.memory);
	elf_image_close(&file);
	return 0;
}

static enum first_load_outcome find(const char *function, uint64_t *ret)
{
	const GElf_Sym symbol = { .st_value = (uintptr_t)function - image.bias };

	return first_load_find(&image, &symbol, ret);
}

static void check_found(const char *function)
{
	uint64_t address;

	assert_int_equal(find(function, &address), FIRST_LOAD_FOUND);
	assert_int_equal(address + image.bias, (uintptr_t)&variable);
}

static void test_variables_are_found(void **state)
{
	check_found(loads_it);
	check_found(loads_after_entry);
	check_found(loads_in_frame);
	check_found(loads_by_got);
}

static void test_what_the_loader_has_not_filled_in_is_not_there_yet(void **state)
{
	uint64_t address;

	where = NULL;
	assert_int_equal(find(loads_by_got, &address), FIRST_LOAD_NOT_YET);
	where = &variable;
}

static void test_other_functions_load_none(void **state)
{
	uint64_t address;

	assert_int_equal(find(loads_elsewhere, &address), FIRST_LOAD_OTHER);
	assert_int_equal(find(does_not, &address), FIRST_LOAD_OTHER);
	assert_int_equal(find(NULL, &address), FIRST_LOAD_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variables_are_found),
		cmocka_unit_test(test_what_the_loader_has_not_filled_in_is_not_there_yet),
		cmocka_unit_test(test_other_functions_load_none),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
