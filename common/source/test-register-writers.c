/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose registers were being written, from a kernel's symbols and call chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/source/register-writers.h"

static const char text[] = "ffffffff81000010 T __entry_text_start\n"
			   "ffffffff81000df0 T asm_sysvec_apic_timer_interrupt\n"
			   "ffffffff81001a87 T __entry_text_end\n"
			   "ffffffff81002000 T other\n"
			   "ffffffff812fd580 t restore_sigcontext\n"
			   "ffffffff812fd740 T __pfx_x64_setup_rt_frame\n"
			   "ffffffff812fd750 T x64_setup_rt_frame\n"
			   "ffffffff812fda60 t behind\n";

enum { INTERRUPT = 0xe00, OTHER = 0x2010, WRITER = 0x2fd800, CALLER = 0x2fda70 };

#define KERNEL 0xffffffff81000000ULL
#define MARK ((uint64_t)-128) /* PERF_CONTEXT_KERNEL */

static bool were_interrupted(const uint64_t *chain, size_t n)
{
	struct register_writers writers;

	register_writers_find(&writers, text, sizeof(text) - 1);
	return register_writers_were_interrupted(&writers, chain, n);
}

#define ASSERT_INTERRUPTED(...)                                                                    \
	assert_true(were_interrupted((const uint64_t[]){ __VA_ARGS__ },                            \
				     sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)))
#define ASSERT_NOT_INTERRUPTED(...)                                                                \
	assert_false(were_interrupted((const uint64_t[]){ __VA_ARGS__ },                           \
				      sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)))

static void test_a_writer_that_is_sampled(void **state)
{
	ASSERT_INTERRUPTED(KERNEL + WRITER, KERNEL + CALLER);
	ASSERT_INTERRUPTED(MARK, KERNEL + WRITER, KERNEL + CALLER);
	ASSERT_INTERRUPTED(KERNEL + 0x2fd580); /* the other function's first instruction */
}

static void test_a_writer_below_an_interrupt(void **state)
{
	ASSERT_INTERRUPTED(MARK, KERNEL + OTHER, KERNEL + INTERRUPT, KERNEL + WRITER,
			   KERNEL + CALLER);
}

static void test_a_writer_with_a_callee(void **state)
{
	ASSERT_NOT_INTERRUPTED(MARK, KERNEL + OTHER, KERNEL + WRITER, KERNEL + CALLER);
}

static void test_other_functions_are_no_writers(void **state)
{
	ASSERT_NOT_INTERRUPTED(MARK, KERNEL + CALLER, KERNEL + OTHER);
	ASSERT_NOT_INTERRUPTED(MARK, KERNEL + 0x2fd748, KERNEL + OTHER); /* padding before it */
	ASSERT_NOT_INTERRUPTED(MARK);
}

static void test_a_kernel_that_hides_its_addresses(void **state)
{
	static const struct register_writers nothing;
	const uint64_t chain[] = { KERNEL + WRITER };

	assert_false(register_writers_were_interrupted(&nothing, chain, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_writer_that_is_sampled),
		cmocka_unit_test(test_a_writer_below_an_interrupt),
		cmocka_unit_test(test_a_writer_with_a_callee),
		cmocka_unit_test(test_other_functions_are_no_writers),
		cmocka_unit_test(test_a_kernel_that_hides_its_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
