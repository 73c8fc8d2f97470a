/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attribution of waits: stacks with the names of Debian 12 and 13. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "profile/waiter.h"

enum { LIBC = 1, PROGRAM = 2, N_MAX = 16 };

static struct stage stage;
static struct stacks stacks;
static struct node nodes[N_MAX];
static struct profile_location locations[N_MAX];
static struct profile_call calls[N_MAX];
static struct profile profile;

static int set_up(void **state)
{
	static const struct stacks_user nobody = { 0 };
	struct wire_hello hello = { .stages = "symbolizer" };

	stacks_init(&stacks, &nobody);
	assert_int_equal(stacks_start(&stacks, &hello), 0);
	profile = (struct profile){ .stacks = &stacks,
				    .nodes = nodes,
				    .locations = locations,
				    .calls = calls,
				    .n_nodes = 1 };
	return 0;
}

static int tear_down(void **state)
{
	stacks_deinit(&stacks);
	counters_deinit(&stage.counters);
	return 0;
}

/* Adds a function called by the previous one. */
static void add(enum profile_location_kind kind, uint32_t module, const char *name)
{
	uint32_t n = profile.n_nodes++;

	calls[n].name = names_intern(&stacks.names, name, strlen(name));
	locations[n] = (struct profile_location){
		.module = module, .kind = kind, .first_call = n, .n_calls = 1
	};
	nodes[n] = (struct node){ .parent = n - 1, .location = n };
}

static void add_kernel(void)
{
	add(PROFILE_KERNEL, 0, "entry_SYSCALL_64_after_hwframe");
	add(PROFILE_KERNEL, 0, "hrtimer_nanosleep");
	add(PROFILE_KERNEL, 0, "schedule");
	add(PROFILE_KERNEL, 0, "__schedule");
}

static void assert_waits(const char *name)
{
	uint32_t node = profile_waiter(&profile, profile.n_nodes - 1);

	assert_string_equal(profile_text(&profile, calls[node].name), name);
}

static void test_a_system_calls_waiter_is_its_caller(void **state)
{
	add(PROFILE_USER, PROGRAM, "main");
	add(PROFILE_USER, LIBC, "clock_nanosleep");
	add_kernel();
	assert_waits("clock_nanosleep");
}

static void test_a_cancellable_calls_waiter_is_its_wrapper(void **state)
{
	add(PROFILE_USER, PROGRAM, "main");
	add(PROFILE_USER, LIBC, "clock_nanosleep");
	add(PROFILE_USER, LIBC, "__internal_syscall_cancel");
	add(PROFILE_USER, LIBC, "__syscall_cancel_arch");
	add_kernel();
	assert_waits("clock_nanosleep");
}

static void test_a_stripped_library_gives_the_same_waiter(void **state)
{
	add(PROFILE_USER, PROGRAM, "main");
	add(PROFILE_USER, LIBC, "clock_nanosleep");
	add(PROFILE_USER, LIBC, "[libc.so.6+0x8f3a0]");
	add(PROFILE_USER, LIBC, "[libc.so.6+0x8f340]");
	add_kernel();
	assert_waits("clock_nanosleep");
}

static void test_without_names_the_waiter_is_what_is_known(void **state)
{
	add(PROFILE_USER, PROGRAM, "main");
	add(PROFILE_USER, LIBC, "[libc.so.6+0x8f340]");
	add_kernel();
	assert_waits("[libc.so.6+0x8f340]");
}

static void test_a_kernel_thread_waits_in_its_own_function(void **state)
{
	add(PROFILE_KERNEL, 0, "ret_from_fork");
	add(PROFILE_KERNEL, 0, "worker_thread");
	add(PROFILE_KERNEL, 0, "schedule");
	assert_waits("worker_thread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_system_calls_waiter_is_its_caller, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_a_cancellable_calls_waiter_is_its_wrapper,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_stripped_library_gives_the_same_waiter,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_without_names_the_waiter_is_what_is_known,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_a_kernel_thread_waits_in_its_own_function,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
