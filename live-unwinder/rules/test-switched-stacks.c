/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This program exports functions of the names that greenlet's have, and Boost's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>

#include "live-unwinder/rules/switched-stacks.h"

extern char __executable_start;

void begin(void) __asm__("_ZN8greenlet12UserGreenlet13g_initialstubEPv");
void switch_over(void) __asm__("_ZN8greenlet8Greenlet13g_switchstackEv");
void other(void);

__attribute__((noinline)) void begin(void)
{
	__asm__ volatile("nop");
}

__attribute__((noinline)) void switch_over(void)
{
	__asm__ volatile("nop");
}

/* What makes a coroutine, and what it begins with: `push %rbp; jmp *%rbx`, and where that ends. */
__asm__(".globl make_fcontext\n"
	".type make_fcontext, @function\n"
	"make_fcontext:\n"
	"	ret\n"
	".globl trampoline\n"
	"trampoline:\n"
	"	.byte 0x55, 0xff, 0xe3\n"
	".globl finish\n"
	"finish:\n"
	"	nop\n"
	".size make_fcontext, .-make_fcontext\n");
void make_fcontext(void);
void trampoline(void);
void finish(void);

__attribute__((noinline)) void other(void)
{
	__asm__ volatile("nop");
}

static const struct unwind_rule *rule_of(const struct elf_image *file,
					 const struct switched_stacks *stacks,
					 void (*function)(void))
{
	uint64_t offset;

	assert_true(elf_image_offset(
		file, file->low + ((uintptr_t)function - (uintptr_t)&__executable_start), &offset));
	return switched_stacks_rule(stacks, offset);
}

static void open_file(const char *path, struct elf_image *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open_descriptor(fd, 0, ret), ELF_IMAGE_OK);
}

static void test_its_functions_have_no_caller_or_lost_it(void **state)
{
	struct switched_stacks stacks;
	struct elf_image file;

	open_file("/proc/self/exe", &file);
	switched_stacks_find(&file, &stacks);
	assert_int_equal(rule_of(&file, &stacks, begin)->return_address, UNWIND_VALUE_UNDEFINED);
	assert_int_equal(rule_of(&file, &stacks, switch_over)->cfa, UNWIND_CFA_LOST);
	assert_null(rule_of(&file, &stacks, other));
	assert_null(rule_of(&file, &stacks, make_fcontext));
	assert_int_equal(rule_of(&file, &stacks, trampoline)->return_address,
			 UNWIND_VALUE_UNDEFINED);
	assert_int_equal(rule_of(&file, &stacks, finish)->return_address, UNWIND_VALUE_UNDEFINED);
	elf_image_close(&file);
}

static void test_other_files_have_none(void **state)
{
	struct switched_stacks stacks;
	struct elf_image file;

	open_file("/bin/sh", &file);
	switched_stacks_find(&file, &stacks);
	for (uint64_t offset = 0; offset < 1 << 16; offset++)
		assert_null(switched_stacks_rule(&stacks, offset));
	elf_image_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_its_functions_have_no_caller_or_lost_it),
		cmocka_unit_test(test_other_files_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
