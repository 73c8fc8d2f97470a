/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Uses this program's own rules: _start has no caller, a function has one. */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/arch/arch.h"
#include "live-unwinder/stack-end.h"

extern char _start[];
int a_function(int number);

__attribute__((noinline)) int a_function(int number)
{
	__asm__ volatile("" : "+r"(number));
	return number;
}

static Dwfl *dwfl;
static Dwfl_Module *module;
static uint64_t base;

static int find_no_debug_file(Dwfl_Module *mod, void **data, const char *name, Dwarf_Addr start,
			      const char *file, const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

static int find_own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	base = info->dlpi_addr;
	return 1;
}

static int set_up(void **state)
{
	static const Dwfl_Callbacks callbacks = {
		.find_debuginfo = find_no_debug_file,
		.section_address = dwfl_offline_section_address,
	};

	dl_iterate_phdr(find_own_base, NULL);
	dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, "self", "/proc/self/exe", -1, base, false);
	dwfl_report_end(dwfl, NULL, NULL);
	return module ? 0 : -1;
}

static int tear_down(void **state)
{
	dwfl_end(dwfl);
	return 0;
}

static const char captured[0x1000];

static struct stack_end_question ask_at(const void *address)
{
	static uint64_t missing;

	return (struct stack_end_question){
		.arch = arch_host(),
		.missing = &missing,
		.module = module,
		.address = (uintptr_t)address,
		.stack_start = 0x7000,
		.stack = { captured, sizeof(captured) },
	};
}

static void test_undefined_return_address_is_complete(void **state)
{
	struct stack_end_question question = ask_at(_start);

	assert_int_equal(stack_end_of_rule(&question), WIRE_stack_end_COMPLETE);
}

static void test_a_function_has_a_caller(void **state)
{
	struct stack_end_question question = ask_at((void *)(uintptr_t)a_function);

	assert_int_equal(stack_end_of_rule(&question), 0);
}

static void test_without_a_row_there_is_no_unwind_info(void **state)
{
	struct stack_end_question question = ask_at((void *)(uintptr_t)base);

	assert_int_equal(stack_end_of_rule(&question), WIRE_stack_end_NO_UNWIND_INFO);
	assert_int_equal(stack_end_of_registers(&question), WIRE_stack_end_NO_UNWIND_INFO);
	question.address = UINT64_MAX;
	assert_int_equal(stack_end_of_rule(&question), WIRE_stack_end_NO_UNWIND_INFO);
	question = ask_at(_start);
	question.module = NULL;
	assert_int_equal(stack_end_of_rule(&question), WIRE_stack_end_NO_UNWIND_INFO);
	assert_int_equal(stack_end_of_registers(&question), WIRE_stack_end_NO_UNWIND_INFO);
}

/* At a function's first instruction the return address is at the stack pointer. */
static enum wire_stack_end end_with_sp(uint64_t sp)
{
	struct stack_end_question question = ask_at((void *)(uintptr_t)a_function);

	question.registers[arch_host()->sp] = sp;
	question.has_register[arch_host()->sp] = true;
	return stack_end_of_registers(&question);
}

static void test_uncaptured_return_address_is_truncated(void **state)
{
	assert_int_equal(end_with_sp(0x6ff8), WIRE_stack_end_TRUNCATED);
	assert_int_equal(end_with_sp(0x8000), WIRE_stack_end_TRUNCATED);
	assert_int_equal(end_with_sp(0x7ff9), WIRE_stack_end_TRUNCATED);
	assert_int_equal(end_with_sp(0x7ff1234567f8), WIRE_stack_end_TRUNCATED);
}

static void test_a_captured_return_address_is_bad_unwind_info(void **state)
{
	assert_int_equal(end_with_sp(0x7000), WIRE_stack_end_BAD_UNWIND_INFO);
	assert_int_equal(end_with_sp(0x7ff8), WIRE_stack_end_BAD_UNWIND_INFO);
}

static void test_a_non_user_address_is_not_truncated(void **state)
{
	assert_int_equal(end_with_sp(UINT64_MAX), WIRE_stack_end_BAD_UNWIND_INFO);
	assert_int_equal(end_with_sp(1ULL << 56), WIRE_stack_end_BAD_UNWIND_INFO);
	assert_int_equal(end_with_sp(UINT64_MAX - 7), WIRE_stack_end_BAD_UNWIND_INFO);
}

static void test_without_registers_unwind_info_is_bad(void **state)
{
	struct stack_end_question question = ask_at((void *)(uintptr_t)a_function);

	assert_int_equal(stack_end_of_registers(&question), WIRE_stack_end_BAD_UNWIND_INFO);
}

/* stack_end_is_initial_stack() looks for argc, argv and a null pointer. */
enum { START = 0x7ffd0000 };

static bool is_initial(const uint64_t *words, size_t n, uint64_t sp)
{
	struct wire_blob stack = { words, n * sizeof(*words) };

	return stack_end_is_initial_stack(&stack, START, sp);
}

static void test_the_stack_of_a_new_process_is_known(void **state)
{
	const uint64_t words[] = { 0, 0, 2, START + 0x100, START + 0x108, 0, START + 0x110, 0 };

	assert_true(is_initial(words, 8, START + 16));
	assert_true(is_initial(words, 6, START + 16));	/* regardless of what follows argv */
	assert_false(is_initial(words, 5, START + 16)); /* truncated before its end */
	assert_false(is_initial(words, 8, START + 24)); /* not aligned */
	assert_false(is_initial(words, 8, START));	/* argc is 0 */
	assert_false(is_initial(words, 8, START - 16));
	assert_false(is_initial(words, 8, START + 64));
	assert_false(is_initial(words, 0, START));
	assert_false(is_initial(words, 8, UINT64_MAX - 15));
}

static void test_other_stacks_are_not_initial(void **state)
{
	const uint64_t below[] = { 1, START - 8, 0, 0 }, itself[] = { 1, START, 0, 0 };
	const uint64_t unended[] = { 1, START + 64, 5, 0 }, many[] = { 8193, START + 64, 0, 0 };
	const uint64_t huge[] = { UINT64_MAX, START + 64, 0, 0 };

	assert_false(is_initial(below, 4, START));
	assert_false(is_initial(itself, 4, START));
	assert_false(is_initial(unended, 4, START));
	assert_false(is_initial(many, 4, START));
	assert_false(is_initial(huge, 4, START));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_undefined_return_address_is_complete),
		cmocka_unit_test(test_a_function_has_a_caller),
		cmocka_unit_test(test_without_a_row_there_is_no_unwind_info),
		cmocka_unit_test(test_uncaptured_return_address_is_truncated),
		cmocka_unit_test(test_a_captured_return_address_is_bad_unwind_info),
		cmocka_unit_test(test_a_non_user_address_is_not_truncated),
		cmocka_unit_test(test_without_registers_unwind_info_is_bad),
		cmocka_unit_test(test_the_stack_of_a_new_process_is_known),
		cmocka_unit_test(test_other_stacks_are_not_initial),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
