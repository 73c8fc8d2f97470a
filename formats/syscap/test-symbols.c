/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "formats/syscap/symbols.h"

static struct names names;
static struct syscap_symbols symbols;

static int set_up(void **state)
{
	names_init(&names);
	syscap_symbols_init(&symbols);
	return 0;
}

static int tear_down(void **state)
{
	syscap_symbols_deinit(&symbols);
	names_deinit(&names);
	return 0;
}

/* Sysprof's table: entries of 32 bytes, a zero entry, then the texts. */
struct entry {
	uint64_t begin, end;
	uint32_t pid, name, tag, padding;
};

static uint32_t intern(const char *text)
{
	return names_intern(&names, text, strlen(text));
}

static void test_symbols_are_bundled_by_process_and_address(void **state)
{
	static const struct entry zero;
	const struct entry *entries;
	char *bundle;
	size_t size;

	pair_map_add(&symbols.living, 7, 0x2000, intern("second"));
	pair_map_add(&symbols.living, 7, 0x1000, intern("first"));
	pair_map_add(&symbols.living, 3, 0x9000, intern("first"));
	pair_map_add(&symbols.living, 9, 0x1, 0); /* over the limit of names */
	assert_int_equal(syscap_symbols_bundle(&symbols, &names, &bundle, &size), 0);
	entries = (const void *)bundle;
	assert_true(size > 5 * sizeof(*entries));
	assert_int_equal(bundle[size - 1], 0);
	assert_int_equal(entries[0].pid, 3);
	assert_int_equal(entries[0].begin, 0x9000);
	assert_int_equal(entries[0].end, 0x9001);
	assert_int_equal(entries[1].pid, 7);
	assert_int_equal(entries[1].begin, 0x1000);
	assert_int_equal(entries[2].begin, 0x2000);
	assert_int_equal(entries[3].pid, 9);
	assert_memory_equal(&entries[4], &zero, sizeof(zero));
	for (int i = 0; i < 4; i++)
		assert_in_range(entries[i].name, 5 * sizeof(*entries), size - 1);
	assert_string_equal(bundle + entries[0].name, "first");
	assert_int_equal(entries[1].name, entries[0].name); /* equal texts are stored once */
	assert_string_equal(bundle + entries[2].name, "second");
	assert_string_equal(bundle + entries[3].name, "[too many names]");
	assert_int_equal(entries[0].tag, 0);
	free(bundle);
}

static void test_an_empty_bundle_is_a_zero_entry(void **state)
{
	char *bundle;
	size_t size;

	assert_int_equal(syscap_symbols_bundle(&symbols, &names, &bundle, &size), 0);
	assert_true(size >= sizeof(struct entry));
	for (size_t i = 0; i < size; i++)
		assert_int_equal(bundle[i], 0);
	free(bundle);
}

static bool is_odd(uint64_t pid, void *arg)
{
	++*(size_t *)arg;
	return pid % 2;
}

static void test_spilled_names_are_in_the_bundle(void **state)
{
	enum { PIDS = 10, N = PAIR_MAP_PRUNED_MIN / PIDS + 1 };
	uint32_t name = intern("name");
	const struct entry *entries;
	size_t size, n_asked = 0;
	char *bundle;

	syscap_symbols_put_away(&symbols, is_odd, &n_asked);
	assert_int_equal(n_asked, 0); /* too few names for a look */
	for (uint32_t pid = 1; pid <= PIDS; pid++)
		for (uint64_t i = 0; i < N; i++)
			pair_map_add(&symbols.living, pid, 0x1000 + i, name);
	syscap_symbols_put_away(&symbols, is_odd, &n_asked);
	assert_int_equal(n_asked, PIDS * N);
	assert_int_equal(symbols.living.n, PIDS / 2 * N);
	assert_int_equal(symbols.n_ended, PIDS / 2 * N);
	pair_map_add(&symbols.living, 2, 0x1000, intern("again"));
	assert_int_equal(syscap_symbols_bundle(&symbols, &names, &bundle, &size), 0);
	entries = (const void *)bundle;
	for (size_t i = 0; i < PIDS * N; i++) {
		assert_int_equal(entries[i].pid, 1 + i / N);
		assert_int_equal(entries[i].begin, 0x1000 + i % N);
		assert_int_equal(entries[i].end, 0x1001 + i % N);
		if (entries[i].pid != 2 || i % N) /* that address has two names */
			assert_string_equal(bundle + entries[i].name, "name");
	}
	assert_int_equal(entries[PIDS * N].pid, 0);
	free(bundle);
}

static bool is_gone(uint64_t pid, void *arg)
{
	return false;
}

enum { WORTH_A_LOOK = PAIR_MAP_PRUNED_MIN + 1 };

static void fill(void)
{
	uint32_t name = intern("name");

	for (uint64_t i = 0; i < WORTH_A_LOOK; i++)
		pair_map_add(&symbols.living, 1, 0x1000 + i, name);
}

/* As without a directory for temporary files. */
static void test_without_a_file_all_names_stay(void **state)
{
	char *bundle;
	size_t size;

	fclose(symbols.ended);
	symbols.ended = NULL;
	fill();
	syscap_symbols_put_away(&symbols, is_gone, NULL);
	assert_int_equal(symbols.living.n, WORTH_A_LOOK);
	assert_int_equal(syscap_symbols_bundle(&symbols, &names, &bundle, &size), 0);
	assert_true(size > WORTH_A_LOOK * sizeof(struct entry));
	free(bundle);
}

static void test_a_temporary_files_read_error_is_reported(void **state)
{
	char *bundle;
	size_t size;

	fill();
	syscap_symbols_put_away(&symbols, is_gone, NULL);
	assert_int_equal(symbols.n_ended, WORTH_A_LOOK);
	fflush(symbols.ended);
	assert_int_equal(ftruncate(fileno(symbols.ended), 0), 0);
	assert_int_equal(syscap_symbols_bundle(&symbols, &names, &bundle, &size), -EIO);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_symbols_are_bundled_by_process_and_address),
		TEST(test_an_empty_bundle_is_a_zero_entry),
		TEST(test_spilled_names_are_in_the_bundle),
		TEST(test_without_a_file_all_names_stay),
		TEST(test_a_temporary_files_read_error_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
