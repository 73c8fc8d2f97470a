/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "symbolizer/kernel-code.h"

#define BASE 0xffffffffc0000000ULL

static struct kernel_code code;
static struct kallsyms kallsyms;

static int set_up(void **state)
{
	code = (struct kernel_code){ 0 };
	kallsyms = (struct kallsyms){ 0 };
	return 0;
}

static int tear_down(void **state)
{
	kernel_code_deinit(&code);
	kallsyms_deinit(&kallsyms);
	return 0;
}

static void read_kallsyms(const char *text)
{
	assert_int_equal(kallsyms_add(&kallsyms, text, strlen(text)), 0);
	assert_int_equal(kallsyms_finish(&kallsyms), 0);
}

static void change_at(uint64_t address, uint64_t size, uint32_t flags, uint32_t kind,
		      const char *name)
{
	struct wire_kernel_symbol record = {
		.address = address,
		.size = size,
		.flags = flags,
		.kind = kind,
		.name = wire_string(name, 255),
	};

	assert_int_equal(kernel_code_change(&code, &record), 0);
}

/* Offsets are relative to BASE from here on. */
static void come(uint64_t offset, uint64_t size, const char *name)
{
	change_at(BASE + offset, size, 0, WIRE_kernel_symbol_kind_BPF, name);
}

static void go(uint64_t offset, uint64_t size)
{
	change_at(BASE + offset, size, WIRE_kernel_symbol_flags_GONE, WIRE_kernel_symbol_kind_BPF,
		  "whatever");
}

static const char *name_at(uint64_t offset)
{
	struct kernel_name name;

	return kernel_code_name(&code, &kallsyms, BASE + offset, &name) ? name.name : "";
}

static uint64_t state_at(uint64_t offset)
{
	return kernel_code_state(&code, &kallsyms, BASE + offset);
}

static void check_bounds(uint64_t offset, uint64_t start, uint64_t size)
{
	struct kernel_name name;

	assert_true(kernel_code_name(&code, &kallsyms, BASE + offset, &name));
	assert_int_equal(name.start, BASE + start);
	assert_int_equal(name.size, size);
}

static void test_code_is_named_from_first_to_last_byte(void **state)
{
	come(0x1000, 0x100, "one");
	come(0x1100, 0x10, "two");
	assert_string_equal(name_at(0xfff), "");
	assert_string_equal(name_at(0x1000), "one");
	assert_string_equal(name_at(0x10ff), "one");
	assert_string_equal(name_at(0x1100), "two");
	assert_string_equal(name_at(0x110f), "two");
	assert_string_equal(name_at(0x1110), "");
	check_bounds(0x10ff, 0x1000, 0x100);
	check_bounds(0x1108, 0x1100, 0x10);
}

static void test_removed_code_has_no_name(void **state)
{
	come(0x1000, 0x100, "one");
	come(0x2000, 0x100, "two");
	go(0x1000, 0x100);
	assert_string_equal(name_at(0x1000), "");
	assert_string_equal(name_at(0x2000), "two");
	go(0x3000, 0x100); /* it existed before the recording */
	assert_string_equal(name_at(0x3000), "");
	assert_string_equal(name_at(0x2000), "two");
}

static void test_a_reused_address_has_the_name_of_its_time(void **state)
{
	come(0x1000, 0x100, "one");
	go(0x1000, 0x100);
	come(0x1040, 0x40, "two");
	assert_string_equal(name_at(0x1000), "");
	assert_string_equal(name_at(0x1040), "two");
	assert_string_equal(name_at(0x1080), "");
	come(0x1080, 0x200, "three");
	assert_string_equal(name_at(0x1040), "two");
	assert_string_equal(name_at(0x1080), "three");
	go(0x1040, 0x40);
	come(0x1000, 0x80, "four");
	assert_string_equal(name_at(0x1000), "four");
	assert_string_equal(name_at(0x107f), "four");
	assert_string_equal(name_at(0x127f), "three");
	assert_string_equal(name_at(0x1280), "");
}

/* The event of its removal was lost. */
static void test_overlapped_code_is_removed(void **state)
{
	come(0x1000, 0x100, "one");
	come(0x1100, 0x100, "two");
	come(0x1200, 0x100, "three");
	come(0x1080, 0x100, "new");
	assert_string_equal(name_at(0x1000), "");
	assert_string_equal(name_at(0x1080), "new");
	assert_string_equal(name_at(0x117f), "new");
	assert_string_equal(name_at(0x1180), "");
	assert_string_equal(name_at(0x1200), "three");
	come(0x1000, 0x1000, "large");
	assert_string_equal(name_at(0x1200), "large");
	come(0x1400, 0x10, "within");
	assert_string_equal(name_at(0x1200), "");
	assert_string_equal(name_at(0x1400), "within");
	assert_string_equal(name_at(0x1410), "");
	assert_string_equal(name_at(0x1fff), "");
}

static void test_kallsyms_names_unchanged_areas(void **state)
{
	read_kallsyms("ffffffff81000000 T first\n"
		      "ffffffffc0001000 t bpf_prog_1_old\t[bpf]\n"
		      "ffffffffc0003000 t of_module\t[module]\n"
		      "ffffffffc0008000 t last\n");
	assert_string_equal(name_at(0x1010), "bpf_prog_1_old");
	check_bounds(0x1010, 0x1000, 0x2000);
	come(0x2000, 0x100, "new");
	check_bounds(0x1010, 0x1000, 0x1000); /* only up to the next function */
	assert_string_equal(name_at(0x2000), "new");
	assert_string_equal(name_at(0x2100), ""); /* not the previous function's name */
	assert_string_equal(name_at(0x3000), "of_module");
	go(0x2000, 0x100);
	assert_string_equal(name_at(0x2000), "");
	assert_string_equal(name_at(0x1fff), "bpf_prog_1_old");
	go(0x1000, 0x80);
	assert_string_equal(name_at(0x1000), "");
	assert_string_equal(name_at(0x1080), ""); /* its end was unknown */
	assert_string_equal(name_at(0x3000), "of_module");
	assert_string_equal(name_at(-0x3f000000), "first");
}

static void test_modules_have_their_kallsyms_names(void **state)
{
	static const struct {
		uint32_t kind;
		const char *name, *module;
	} expected[] = {
		{ WIRE_kernel_symbol_kind_BPF, "bpf_prog_6deef7357e7b4530_x", "bpf" },
		{ WIRE_kernel_symbol_kind_BPF, "kprobe_x", "bpf" },
		{ WIRE_kernel_symbol_kind_OUT_OF_LINE, "ftrace_trampoline", "__builtin__ftrace" },
		{ WIRE_kernel_symbol_kind_OUT_OF_LINE, "kprobe_insn_page", "__builtin__kprobes" },
		{ WIRE_kernel_symbol_kind_OUT_OF_LINE, "of_a_later_kernel", "" },
		{ 77, "of_a_later_kernel", "" },
	};
	struct kernel_name name;

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		change_at(BASE, 0x10, 0, expected[i].kind, expected[i].name);
		assert_true(kernel_code_name(&code, &kallsyms, BASE, &name));
		assert_string_equal(name.module, expected[i].module);
	}
}

static void test_the_state_of_an_address_changes_with_its_name(void **state)
{
	uint64_t never = state_at(0x1000), first, other;

	read_kallsyms("ffffffffc0000000 t old\nffffffffc0008000 t end\n");
	assert_int_equal(state_at(0x1000), never);
	come(0x1000, 0x100, "one");
	first = state_at(0x1000);
	assert_int_not_equal(first, never);
	come(0x4000, 0x100, "elsewhere");
	assert_int_equal(state_at(0x10ff), first);
	assert_int_equal(state_at(0), never);
	go(0x1000, 0x100);
	other = state_at(0x1000);
	assert_int_not_equal(other, first);
	come(0x1000, 0x100, "one");
	assert_int_not_equal(state_at(0x1000), other);
	assert_int_not_equal(state_at(0x1000), first);
	/* kallsyms is no longer trusted after added code, only before it. */
	assert_string_equal(name_at(0x3000), "");
	assert_int_not_equal(state_at(0x3000), never);
	assert_string_equal(name_at(0xfff), "old");
	assert_int_equal(state_at(0xfff), never);
}

static void test_impossible_changes_are_refused(void **state)
{
	static const struct {
		uint64_t address, size;
	} bad[] = {
		{ BASE, 0 },		      /* without a size there is no name */
		{ 0x1000, 0x100 },	      /* in user space */
		{ (1ULL << 63) - 1, 0x100 },  /* … at its beginning */
		{ UINT64_MAX - 0xff, 0x100 }, /* ends at 2^64 */
		{ UINT64_MAX, 0x100 },	      /* … or past it */
		{ BASE, KERNEL_CODE_SIZE_MAX + 1 },
		{ BASE, UINT64_MAX },
	};

	come(0, 0x100, "good");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		change_at(bad[i].address, bad[i].size, 0, WIRE_kernel_symbol_kind_BPF, "bad");
		change_at(bad[i].address, bad[i].size, WIRE_kernel_symbol_flags_GONE, 0, "bad");
		assert_int_equal(code.n_refused, 2 * i + 2);
		assert_int_equal(code.n, 1);
		assert_string_equal(name_at(0), "good");
	}
	come(0, 0x100, ""); /* code with unknown name */
	assert_string_equal(name_at(0), "");
}

/* Random overlaps, compared with a plain per-byte model. */
static void test_random_changes_match_a_plain_model(void **state)
{
	enum { BYTES = 64, N = 20000 };
	int model[BYTES] = { 0 }, start_of[N + 1], end_of[N + 1];
	unsigned random = 1;

	for (int i = 1; i <= N; i++) {
		char name[16];
		int start, size, is_gone;

		random = random * 1103515245 + 12345;
		start = random >> 16 & (BYTES - 1);
		random = random * 1103515245 + 12345;
		size = 1 + (random >> 16) % (BYTES - start);
		if (random >> 12 & 3)
			size = 1 + size % 6;
		if (start + size > BYTES)
			size = BYTES - start;
		random = random * 1103515245 + 12345;
		is_gone = random >> 16 & 1;
		snprintf(name, sizeof(name), "%d", i);
		start_of[i] = start;
		end_of[i] = start + size;
		for (int k = 0; k < BYTES; k++) { /* overlapped code is removed as a whole */
			int old = model[k];

			if (old && start_of[old] < end_of[i] && start_of[i] < end_of[old])
				model[k] = 0;
		}
		for (int k = start; k < start + size; k++)
			model[k] = is_gone ? 0 : i;
		if (is_gone)
			go(start, size);
		else
			come(start, size, name);
		for (int k = 0; k < BYTES; k++) {
			snprintf(name, sizeof(name), "%d", model[k]);
			assert_string_equal(name_at(k), model[k] ? name : "");
		}
	}
	assert_in_range(code.n, 1, BYTES);
}

static void test_areas_without_code_are_joined_at_the_limit(void **state)
{
	read_kallsyms("ffffffffc0000000 t old\nffffffffc0000010 t other\nffffffffffffffff t end\n");
	come(0x40000000 - 0x1000, 0x100, "first");
	for (uint64_t i = 0; i < KERNEL_CODE_MAX; i++)
		go(i * 0x40, 0x10);
	assert_in_range(code.n, 2, KERNEL_CODE_MAX);
	assert_string_equal(name_at(0x40000000 - 0x1000), "first");
	assert_string_equal(name_at(0x20), ""); /* the name was from kallsyms */
	assert_string_equal(name_at(0x40), "");
	assert_int_equal(code.n_refused, 0);
}

static void test_over_the_limit_all_code_is_dropped(void **state)
{
	for (uint64_t i = 0; i < KERNEL_CODE_MAX - 2; i++)
		come(i * 0x40, 0x10, "many");
	assert_int_equal(code.n, KERNEL_CODE_MAX - 2);
	assert_int_equal(code.n_refused, 0);
	assert_string_equal(name_at(0), "many");
	come(0x3ffff000, 0x10, "one");
	come(0x3ffff100, 0x10, "too many");
	assert_int_equal(code.n_refused, KERNEL_CODE_MAX - 1);
	assert_string_equal(name_at(0), "");
	assert_string_equal(name_at(0x3ffff000), "");
	assert_string_equal(name_at(0x3ffff100), "too many");
	come(0, 0x10, "again");
	assert_string_equal(name_at(0), "again");
	assert_string_equal(name_at(0x3ffff100), "too many");
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_code_is_named_from_first_to_last_byte),
		TEST(test_removed_code_has_no_name),
		TEST(test_a_reused_address_has_the_name_of_its_time),
		TEST(test_overlapped_code_is_removed),
		TEST(test_kallsyms_names_unchanged_areas),
		TEST(test_modules_have_their_kallsyms_names),
		TEST(test_the_state_of_an_address_changes_with_its_name),
		TEST(test_impossible_changes_are_refused),
		TEST(test_random_changes_match_a_plain_model),
		TEST(test_areas_without_code_are_joined_at_the_limit),
		TEST(test_over_the_limit_all_code_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
