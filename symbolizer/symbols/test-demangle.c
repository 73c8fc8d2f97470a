/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/long-name.h"
#include "symbolizer/symbols/demangle.h"

static void check(const char *name, const char *expected)
{
	char *text = demangle(name);

	if (!expected) {
		assert_null(text);
		return;
	}
	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_cxx(void **state)
{
	check("_Z3fooi", "foo(int)");
	check("_ZNSt6vectorIiSaIiEE9push_backERKi",
	      "std::vector<int, std::allocator<int> >::push_back(int const&)");
	check("_ZNK3abcclEv", "abc::operator()() const");
	check("_ZGVZ3foovE1x", "guard variable for foo()::x");
}

static void test_rust(void **state)
{
	check("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt");
	check("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop"
	      "17h0123456789abcdefE",
	      "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
	check("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	check("_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>");
}

static void test_d(void **state)
{
	check("_D8demangle4testFZv", "demangle.test()");
}

static void test_plain_names_are_unchanged(void **state)
{
	static const char *const names[] = { "",
					     "main",
					     "_start",
					     "__libc_start_main",
					     "_Exit",
					     "_DYNAMIC",
					     "_Znot a name",
					     "_Z",
					     "_R",
					     "_D",
					     "_",
					     "_Zzzzz",
					     "_RRRR",
					     "_D999999999999999999999x",
					     "foo@@GLIBC_2.2.5" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check(names[i], NULL);
}

static void test_every_truncation_of_a_name_is_harmless(void **state)
{
	static const char *const names[] = {
		"_ZNSt6vectorIiSaIiEE9push_backERKi",
		"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
		"_RINvNtC3std3mem8align_ofdE",
		"_D8demangle4testFZv",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t size = 0; size < strlen(names[i]); size++) {
			char *cut = strndup(names[i], size);

			free(demangle(cut));
			free(cut);
		}
	}
}

static void test_a_name_over_the_limit_is_unchanged(void **state)
{
	enum { SIZE = DEMANGLE_INPUT_MAX - 7 - 4 }; /* identifier with a length of four digits */
	char name[DEMANGLE_INPUT_MAX + 2], *text;
	int at = sprintf(name, "_RNvC1a%d", SIZE);

	memset(name + at, 'x', SIZE + 1);
	name[at + SIZE] = 0;
	assert_int_equal(strlen(name), DEMANGLE_INPUT_MAX);
	text = demangle(name);
	assert_non_null(text);
	assert_memory_equal(text, "a::xxx", 6);
	free(text);
	at = sprintf(name, "_RNvC1a%d", SIZE + 1);
	memset(name + at, 'x', SIZE + 1);
	name[at + SIZE + 1] = 0;
	check(name, NULL);
}

static void test_a_result_over_the_limit_is_cut(void **state)
{
	/* Each parameter repeats the previous template twice. */
	char *text = demangle("_Z1fSt4pairIiiES_IS0_S0_ES_IS1_S1_ES_IS2_S2_ES_IS3_S3_E"
			      "S_IS4_S4_ES_IS5_S5_ES_IS6_S6_ES_IS7_S7_E");

	assert_non_null(text);
	assert_int_equal(strlen(text), LONG_NAME_MAX);
	assert_memory_equal(text, "f(std::pair<int, int>, std::pair<std::pair<int, int>, ", 53);
	free(text);
}

/*
 * A 200-byte name with forty doublings. The limits on CPU time and memory are far beyond what any
 * legitimate name needs.
 */
static void demangle_a_bomb(const char *name)
{
	struct rlimit cpu = { 10, 10 }, memory = { 0, 0 };
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setrlimit(RLIMIT_CPU, &cpu);
		setrlimit(RLIMIT_CORE, &memory);
#if !defined(__SANITIZE_ADDRESS__)
		memory.rlim_cur = memory.rlim_max = 1ULL << 30;
		setrlimit(RLIMIT_AS, &memory);
#endif
		free(demangle(name));
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_an_exponential_cxx_name_is_cheap(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[DEMANGLE_INPUT_MAX] = "_Z1fSt4pairIiiES_IS0_S0_E", *at = name + strlen(name);

	for (int i = 1; i < 36; i++)
		at += sprintf(at, "S_IS%c_S%c_E", digits[i], digits[i]);
	demangle_a_bomb(name);
}

static void test_an_exponential_rust_name_is_cheap(void **state)
{
	static const char digits[] =
		"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[DEMANGLE_INPUT_MAX] = "_RINvC1a1bTuuE", *at = name + strlen(name);
	size_t last = 8; /* offset of the newest tuple, after "_R" */

	/* Each tuple holds the previous one twice, by base-62 back-references. */
	for (int i = 0; i < 40; i++) {
		char reference[8];
		size_t here = at - name - 2;

		if (last == 0)
			snprintf(reference, sizeof(reference), "B_");
		else if (last - 1 < 62)
			snprintf(reference, sizeof(reference), "B%c_", digits[last - 1]);
		else
			snprintf(reference, sizeof(reference), "B%c%c_", digits[(last - 1) / 62],
				 digits[(last - 1) % 62]);
		at += sprintf(at, "T%s%sE", reference, reference);
		last = here;
	}
	strcpy(at, "E");
	demangle_a_bomb(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_d),
		cmocka_unit_test(test_plain_names_are_unchanged),
		cmocka_unit_test(test_every_truncation_of_a_name_is_harmless),
		cmocka_unit_test(test_a_name_over_the_limit_is_unchanged),
		cmocka_unit_test(test_a_result_over_the_limit_is_cut),
		cmocka_unit_test(test_an_exponential_cxx_name_is_cheap),
		cmocka_unit_test(test_an_exponential_rust_name_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
