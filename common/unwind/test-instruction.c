/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions end where they do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/unwind/instruction-x86_64.h"

static struct x86_instruction instruction;

#define SIZE(...)                                                                                  \
	({                                                                                         \
		static const uint8_t code_[] = { __VA_ARGS__ };                                    \
		instruction_x86_64(code_, sizeof(code_), &instruction);                            \
	})

static void test_sizes(void **state)
{
	assert_int_equal(SIZE(0xc3, 0x90), 1);
	assert_int_equal(SIZE(0x48, 0x83, 0xec, 0x08, 0x90), 4);       /* sub $8,%rsp */
	assert_int_equal(SIZE(0x48, 0x81, 0xec, 0, 1, 0, 0), 7);       /* sub $0x100,%rsp */
	assert_int_equal(SIZE(0x49, 0x8b, 0x65, 0x58, 0x90), 4);       /* mov 0x58(%r13),%rsp */
	assert_int_equal(SIZE(0x48, 0x8b, 0x05, 0, 0, 0, 0, 0x90), 7); /* mov 0(%rip),%rax */
	assert_int_equal(SIZE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0x90), 10); /* movabs */
	assert_int_equal(SIZE(0x66, 0xb8, 1, 2, 0x90), 4);		      /* mov $0x201,%ax */
	assert_int_equal(SIZE(0x42, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x90), 8);
	assert_int_equal(SIZE(0xf6, 0x03, 0x02, 0x90), 3); /* testb $2,(%rbx) */
	assert_int_equal(SIZE(0xf7, 0xd8, 0x90), 2);	   /* neg %eax */
	assert_int_equal(SIZE(0x0f, 0x84, 0, 0, 0, 0, 0x90), 6);
	assert_int_equal(SIZE(0xc5, 0xf8, 0x77, 0x90), 3);		     /* vzeroupper */
	assert_int_equal(SIZE(0xc4, 0xe3, 0xf1, 0x22, 0xc4, 0x01, 0x90), 6); /* vpinsrq */
	assert_int_equal(SIZE(0x62, 0xf1, 0x7c, 0x48, 0x28, 0xc1, 0x90),
			 6); /* vmovaps %zmm1,%zmm0 */
}

static void test_parts(void **state)
{
	assert_int_equal(SIZE(0x49, 0x8b, 0xa5, 1, 2, 3, 4), 7);
	assert_int_equal(instruction.rex, 0x49);
	assert_int_equal(instruction.opcode, 1);
	assert_int_equal(instruction.modrm, 2);
	assert_int_equal(instruction.displacement, 3);
	assert_int_equal(instruction.displacement_size, 4);
	assert_false(instruction.is_vector);
	assert_int_equal(SIZE(0xc5, 0xf9, 0xeb, 0xc1), 4); /* vpor */
	assert_true(instruction.is_vector);
	assert_int_equal(SIZE(0x90), 1);
	assert_int_equal(instruction.modrm, 0);
	assert_int_equal(instruction.displacement_size, 0);
}

static void test_what_is_none_has_no_size(void **state)
{
	assert_int_equal(SIZE(0x06), 0);
	assert_int_equal(SIZE(0x48), 0);
	assert_int_equal(SIZE(0x66, 0x66), 0);
	assert_int_equal(SIZE(0x48, 0x83, 0xec), 0);
	assert_int_equal(SIZE(0xe8, 0, 0, 0), 0);
	assert_int_equal(SIZE(0xc4, 0xe3), 0);
	assert_int_equal(SIZE(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
			      0x66, 0x66, 0x66, 0x66, 0x90),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_what_is_none_has_no_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
