/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/utsname.h>

#include <cmocka.h>

#include "common/arch/arch.h"

static const struct arch *const all[] = { &arch_x86_64, &arch_aarch64 };

static void test_archs_are_found_by_machine_and_name(void **state)
{
	assert_ptr_equal(arch_find(EM_X86_64), &arch_x86_64);
	assert_ptr_equal(arch_find(EM_AARCH64), &arch_aarch64);
	assert_ptr_equal(arch_find_name("x86_64"), &arch_x86_64);
	assert_ptr_equal(arch_find_name("aarch64"), &arch_aarch64);
}

static void test_other_machines_are_unknown(void **state)
{
	assert_null(arch_find(EM_RISCV));
	assert_null(arch_find_name("riscv64"));
	assert_null(arch_find_name(""));
}

static void test_the_host_matches_uname(void **state)
{
	struct utsname name;

	assert_int_equal(uname(&name), 0);
	assert_ptr_equal(arch_host(), arch_find_name(name.machine));
	assert_ptr_equal(arch_host(), arch_find(EM_NONE));
}

/* Each value of a sample belongs to exactly one register. */
static void test_samples_hold_each_register_once(void **state)
{
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		const struct arch *arch = all[i];
		uint64_t seen = 0;

		assert_int_equal(arch->n_registers, __builtin_popcountll(arch->register_mask));
		assert_true(arch->n_registers <= ARCH_REGISTERS_MAX);
		for (size_t k = 0; k < arch->n_registers; k++) {
			assert_true(arch->interrupted_at[k] > 0);
			seen |= 1ULL << arch->sample_index[k];
		}
		assert_int_equal(seen, (1ULL << arch->n_registers) - 1);
	}
}

static void test_registers_are_where_perf_has_them(void **state)
{
	static const uint64_t x86_64[17] = { [6] = 0xb, [7] = 0xc, [8] = 0xd, [16] = 0xf };
	static const uint64_t aarch64[33] = { [29] = 0xb, [31] = 0xc, [32] = 0xd, [30] = 0xf };
	const struct arch *arch = &arch_x86_64;

	assert_int_equal(arch_sampled(arch, x86_64, arch->fp), 0xb);
	assert_int_equal(arch_sampled(arch, x86_64, arch->sp), 0xc);
	assert_int_equal(arch_sampled(arch, x86_64, arch->pc), 0xd);
	assert_int_equal(arch_sampled(arch, x86_64, arch->return_address), 0xd);
	assert_int_equal(arch_sampled(arch, x86_64, 15), 0xf);
	arch = &arch_aarch64;
	assert_int_equal(arch_sampled(arch, aarch64, arch->fp), 0xb);
	assert_int_equal(arch_sampled(arch, aarch64, arch->sp), 0xc);
	assert_int_equal(arch_sampled(arch, aarch64, arch->pc), 0xd);
	assert_int_equal(arch_sampled(arch, aarch64, arch->return_address), 0xf);
}

static int number(const struct arch *arch, const char *name)
{
	return arch_register_number(arch, name, strlen(name));
}

static void test_registers_have_names(void **state)
{
	assert_int_equal(number(&arch_x86_64, "rdx"), 1);
	assert_int_equal(number(&arch_x86_64, "sp"), arch_x86_64.sp);
	assert_int_equal(number(&arch_x86_64, "rbp"), arch_x86_64.fp);
	assert_int_equal(number(&arch_aarch64, "x19"), 19);
	assert_int_equal(number(&arch_aarch64, "lr"), arch_aarch64.return_address);
	assert_int_equal(number(&arch_aarch64, "rdx"), -1);
	assert_int_equal(arch_register_number(&arch_x86_64, "r12 ", 3), 12);
	assert_int_equal(arch_register_number(&arch_x86_64, "r1", 2), -1);
}

/* Offsets from SP of the interrupted frame's registers: asm/sigcontext.h of aarch64. */
static void test_a_signal_frame_has_each_register_in_turn(void **state)
{
	for (size_t i = 0; i < 31; i++)
		assert_int_equal(arch_aarch64.interrupted_at[i], 312 + 8 * i);
	assert_int_equal(arch_aarch64.interrupted_at[arch_aarch64.sp], 560);
	assert_int_equal(arch_aarch64.interrupted_at[arch_aarch64.pc], 568);
	assert_int_equal(arch_x86_64.interrupted_at[arch_x86_64.sp], 160);
	assert_int_equal(arch_x86_64.interrupted_at[arch_x86_64.pc], 168);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_archs_are_found_by_machine_and_name),
		cmocka_unit_test(test_other_machines_are_unknown),
		cmocka_unit_test(test_the_host_matches_uname),
		cmocka_unit_test(test_samples_hold_each_register_once),
		cmocka_unit_test(test_registers_are_where_perf_has_them),
		cmocka_unit_test(test_registers_have_names),
		cmocka_unit_test(test_a_signal_frame_has_each_register_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
