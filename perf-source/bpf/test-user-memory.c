/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kernels in which a BPF program that reads user memory may hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "perf-source/bpf/user-memory.h"

static void test_kernels_that_may_hang_are_known(void **state)
{
	static const char *const safe[] = { "5.18.19", "6.1.36",  "6.1.150-generic",  "6.3.10",
					    "6.4.0",   "6.18.44", "7.3.4+deb13-amd64" };
	static const char *const unsafe[] = { "5.19.0",		  "6.0.19", "6.1.35",
					      "6.2.0-39-generic", "6.3.9",  "garbage" };

	for (size_t i = 0; i < sizeof(safe) / sizeof(*safe); i++)
		assert_true(user_memory_is_safe_in(safe[i], "#1 SMP"));
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(*unsafe); i++)
		assert_false(user_memory_is_safe_in(unsafe[i], "#1 SMP"));
}

static void test_debian_names_its_kernels_apart(void **state)
{
	assert_true(user_memory_is_safe_in("6.1.0-50-cloud-amd64",
					   "#1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-10-01)"));
	assert_false(user_memory_is_safe_in("6.1.0-9-amd64",
					    "#1 SMP PREEMPT_DYNAMIC Debian 6.1.27-1 (2023-05-08)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernels_that_may_hang_are_known),
		cmocka_unit_test(test_debian_names_its_kernels_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
