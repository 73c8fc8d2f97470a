/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/jit/jitdump.h"
#include "common/jit/test-jitdump-made.h"

#define NOW UINT64_MAX

static struct made_dump made;
static struct jitdump dump;

static int set_up(void **state)
{
	made.size = 0;
	made_put_header(&made, 0);
	jitdump_init(&dump);
	return 0;
}

static int tear_down(void **state)
{
	jitdump_deinit(&dump);
	return 0;
}

/* Passes all bytes made since the last call. */
static void give_as(int outcome)
{
	assert_int_equal(jitdump_add(&dump, made.bytes, made.size), outcome);
	made.size = 0;
}

static void give(void)
{
	give_as(JITDUMP_OK);
}

static void check(uint64_t address, uint64_t time, const char *name)
{
	struct jit_code code;

	if (!name) {
		assert_false(jit_functions_find(&dump.functions, address, time, &code));
		return;
	}
	assert_true(jit_functions_find(&dump.functions, address, time, &code));
	assert_string_equal(code.name, name);
	assert_true(address - code.start < code.size);
}

/* `line` 0: no line is known. */
static void check_line(uint64_t address, const char *file, uint32_t line, uint32_t column)
{
	struct jit_place place;
	struct jit_code code;

	assert_true(jit_functions_find(&dump.functions, address, NOW, &code));
	if (!line) {
		assert_false(jit_functions_find_line(&dump.functions, &code, address, &place));
		return;
	}
	assert_true(jit_functions_find_line(&dump.functions, &code, address, &place));
	assert_string_equal(place.file, file);
	assert_int_equal(place.line, line);
	assert_int_equal(place.column, column);
}

static void test_the_header_is_emitted(void **state)
{
	give();
	assert_int_equal(dump.machine, 62);
	assert_int_equal(dump.pid, 4711);
	assert_int_equal(dump.created_at, 99);
	assert_false(dump.has_arch_clock);
	jitdump_deinit(&dump);
	made_put_header(&made, 1);
	give();
	assert_true(dump.has_arch_clock);
}

static void put_load_of(uint32_t pid, uint64_t time, uint64_t start, const char *name)
{
	size_t at = made_put_load(&made, time, start, 16, 1, name);

	memcpy(made.bytes + at + 16, &pid, sizeof(pid));
}

static void test_a_file_older_than_its_process_is_ignored(void **state)
{
	dump.process = (struct jitdump_process){ .pid = 5000, .began = 100 };
	put_load_of(4711, 99, 0x1000, "inherited");
	put_load_of(4711, 101, 0x2000, "of the parent");
	made_put_lines(&made, 0x3000, &(struct made_line){ 0x3000, 1, 1, "parent" }, 1);
	put_load_of(4711, 102, 0x3000, "of the parent");
	put_load_of(5000, 103, 0x3000, "its own");
	give();
	check(0x1000, NOW, NULL);
	check(0x2000, NOW, NULL);
	check(0x3000, NOW, "its own");
	check_line(0x3000, NULL, 0, 0);
	assert_int_equal(dump.n_of_others, 3);
}

static void test_records_before_the_process_are_ignored(void **state)
{
	dump.process = (struct jitdump_process){ .pid = 4711, .began = 100 };
	put_load_of(4711, 99, 0x1000, "earlier");
	put_load_of(4711, 100, 0x2000, "its own");
	give();
	check(0x1000, NOW, NULL);
	check(0x2000, NOW, "its own");
	assert_int_equal(dump.n_of_others, 1);
}

static void test_records_of_a_child_are_ignored(void **state)
{
	dump.process = (struct jitdump_process){ .pid = 4711, .began = 98 };
	put_load_of(4711, 101, 0x1000, "its own");
	put_load_of(5000, 102, 0x1000, "of a child");
	put_load_of(0, 103, 0x2000, "of whoever");
	give();
	check(0x1000, NOW, "its own");
	check(0x2000, NOW, "of whoever");
	assert_int_equal(dump.n_of_others, 1);
}

static void test_a_namespace_has_pids_of_its_own(void **state)
{
	const uint32_t own_pids[] = { 0, 4711 }; /* unknown, or equal to the file's */

	for (size_t i = 0; i < sizeof(own_pids) / sizeof(*own_pids); i++) {
		tear_down(state);
		set_up(state);
		dump.process = (struct jitdump_process){ 5000, own_pids[i], .began = 98 };
		put_load_of(4711, 101, 0x1000, "its own");
		made_put_move(&made, 102, 0x1000, 0x2000, 1);
		put_load_of(8, 103, 0x2000, "of a child");
		give();
		check(0x1000, NOW, NULL);
		check(0x2000, NOW, "its own");
		assert_int_equal(dump.n_of_others, 1);
	}
}

/* The process was forked so early that its start time, in clock ticks, is not after the file's. */
static void test_records_of_a_parent_are_ignored(void **state)
{
	dump.process = (struct jitdump_process){ .pid = 5000, .own_pid = 8, .began = 98 };
	put_load_of(4711, 101, 0x1000, "of the parent");
	put_load_of(8, 102, 0x2000, "its own");
	give();
	check(0x1000, NOW, NULL);
	check(0x2000, NOW, "its own");
	assert_int_equal(dump.n_of_others, 1);
}

static void test_other_files_are_refused(void **state)
{
	made.bytes[0] ^= 1;
	give_as(JITDUMP_E_MAGIC);
	give_as(JITDUMP_E_MAGIC);
}

static void test_the_other_byte_order_is_refused(void **state)
{
	memcpy(made.bytes, "JiTD", 4);
	give_as(JITDUMP_E_BYTE_ORDER);
}

static void test_other_versions_are_refused(void **state)
{
	made.bytes[4] = 2;
	give_as(JITDUMP_E_VERSION);
}

static void test_a_longer_header_is_skipped(void **state)
{
	made.bytes[8] = 48;
	made_put64(&made, UINT64_MAX);
	made_put_load(&made, 10, 0x1000, 16, 1, "first");
	give();
	check(0x1000, NOW, "first");
	jitdump_deinit(&dump);
	made_put_header(&made, 0);
	made.bytes[8] = 39;
	give_as(JITDUMP_E_DAMAGED);
}

/* Checks how many bytes of a function are available, of a file given as a whole. */
static void check_code(uint64_t address, size_t size)
{
	struct jit_code code;

	assert_true(jit_functions_find(&dump.functions, address, NOW, &code));
	assert_true(code.function->code_at + size <= sizeof(made.bytes));
	for (size_t i = 0; i < size; i++)
		assert_int_equal((uint8_t)made.bytes[code.function->code_at + i], 0x90);
	assert_int_not_equal((uint8_t)made.bytes[code.function->code_at - 1], 0x90);
}

static void test_the_code_bytes_are_located(void **state)
{
	made_put_load(&made, 10, 0x1000, 16, 1, "first");
	made_put_lines(&made, 0x2000, NULL, 0);
	made_put_load(&made, 20, 0x2000, 4000, 2, "second");
	made_put_load(&made, 30, 0x4000, 1, 3, "");
	give();
	check_code(0x1000, 16);
	check_code(0x2000, 4000);
	check_code(0x4000, 1);
}

static void test_an_address_has_the_name_of_its_time(void **state)
{
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	made_put_load(&made, 200, 0x1000, 16, 2, "second");
	made_put_load(&made, 300, 0x1008, 16, 3, "third");
	give();
	check(0x1000, 99, NULL);
	check(0x1000, 100, "first");
	check(0x100f, 199, "first");
	check(0x1000, 200, "second");
	check(0x100f, 299, "second");
	check(0x1007, 300, "second");
	check(0x1008, 300, "third");
	check(0x1017, NOW, "third");
	check(0x1018, NOW, NULL);
	check(0xfff, NOW, NULL);
}

static void test_moved_code_has_its_new_address_from_then_on(void **state)
{
	made_put_load(&made, 100, 0x1000, 16, 7, "moved");
	made_put_move(&made, 200, 0x1000, 0x2000, 7);
	made_put_load(&made, 300, 0x1000, 16, 8, "other");
	made_put_move(&made, 400, 0x2000, 0x2008, 7); /* overlapping its old place */
	give();
	check(0x1000, 199, "moved");
	check(0x2000, 199, NULL);
	check(0x1000, 200, NULL);
	check(0x200f, 200, "moved");
	check(0x1000, 300, "other");
	check(0x2000, 400, NULL);
	check(0x2008, 400, "moved");
	check(0x2017, 400, "moved");
	assert_int_equal(dump.n_refused_records, 0);
}

static void test_a_move_of_unknown_code_is_ignored(void **state)
{
	made_put_load(&made, 100, 0x1000, 16, 7, "first");
	made_put_move(&made, 200, 0x1000, 0x2000, 8); /* other code index */
	made_put_move(&made, 200, 0x1008, 0x2000, 7); /* no code begins there */
	made_put_move(&made, 200, 0x3000, 0x2000, 7);
	made_put_move(&made, 200, 0x1000, UINT64_MAX - 4, 7);
	made_put_move(&made, 200, 0x3000, UINT64_MAX - 4, 7);
	give();
	assert_int_equal(dump.n_refused_records, 5);
	check(0x1000, NOW, "first");
	check(0x2000, NOW, NULL);
}

static void test_moved_unknown_code_hides_what_was_there(void **state)
{
	made_put_load(&made, 100, 0x1000, 16, 7, "first");
	made_put_move(&made, 200, 0x3000, 0x1008, 8);
	give();
	assert_int_equal(dump.n_refused_records, 1);
	check(0x1008, 199, "first");
	check(0x1007, 200, "first");
	check(0x1008, 200, NULL);
	check(0x1000, 200, "first");
}

static void test_lines_are_those_of_the_function_that_follows(void **state)
{
	const struct made_line lines[] = {
		{ 0x1004, 20, 1, "a.js" },
		{ 0x1008, 21, 2, "\xff" },
		{ 0x1008, 22, 3, "b.js" },
		{ 0x100c, 23, 4, "a.js" },
	};

	made_put_lines(&made, 0x1000, lines, 4);
	made_put_load(&made, 100, 0x1000, 16, 1, "with");
	made_put_load(&made, 100, 0x2000, 16, 2, "without");
	give();
	check_line(0x1000, NULL, 0, 0);
	check_line(0x1004, "a.js", 20, 1);
	check_line(0x1007, "a.js", 20, 1);
	check_line(0x1008, "b.js", 22, 3);
	check_line(0x100f, "a.js", 23, 4);
	check_line(0x2008, NULL, 0, 0);
	made_put_move(&made, 200, 0x1000, 0x3000, 1);
	give();
	check_line(0x3008, "b.js", 22, 3);
	assert_int_equal(dump.n_refused_lines, 0);
}

static void test_lines_of_another_function_are_refused(void **state)
{
	const struct made_line lines[] = { { 0x1000, 20, 1, "a.js" }, { 0x1008, 21, 1, "a.js" } };

	made_put_lines(&made, 0x1000, lines, 2);
	made_put_load(&made, 100, 0x2000, 16, 1, "first");
	made_put_lines(&made, 0x3000, lines, 0);
	made_put_load(&made, 100, 0x1000, 16, 2, "second");
	give();
	check_line(0x2000, NULL, 0, 0);
	check_line(0x1000, NULL, 0, 0);
	assert_int_equal(dump.n_refused_lines, 2);
}

static void test_lines_may_be_in_any_order(void **state)
{
	const struct made_line lines[] = { { 0x100c, 3, 0, "a.js" },
					   { 0x1000, 1, 0, "a.js" },
					   { 0x1008, 2, 0, "b.js" } };

	made_put_lines(&made, 0x1000, lines, 3);
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	give();
	check_line(0x1001, "a.js", 1, 0);
	check_line(0x1008, "b.js", 2, 0);
	check_line(0x100f, "a.js", 3, 0);
}

/* V8 counts the size of an ELF header in its addresses. */
static void test_lines_that_count_an_elf_header_are_corrected(void **state)
{
	const struct made_line lines[] = { { 0x1040, 1, 0, "a.js" }, { 0x1048, 2, 0, "a.js" } };

	made_put_lines(&made, 0x1000, lines, 2);
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	give();
	check_line(0x1000, "a.js", 1, 0);
	check_line(0x1008, "a.js", 2, 0);
}

static void test_lines_that_contradict_themselves_are_refused(void **state)
{
	const struct made_line lines[] = {
		{ 0xfff, 1, 0, "a.js" },
		{ 0x1000 + (1ULL << 32), 2, 0, "a.js" },
		{ 0x1008, 3, 0, "a.js" },
	};
	size_t at = made_put_lines(&made, 0x1000, lines, 3);
	uint64_t more = UINT64_MAX;

	memcpy(made.bytes + at + 24, &more, sizeof(more)); /* more than there are */
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	give();
	check_line(0x1000, NULL, 0, 0);
	check_line(0x1008, "a.js", 3, 0);
	assert_int_equal(dump.n_refused_lines, 3);
	at = made_put_lines(&made, 0x2000, lines + 2, 1);
	made.bytes[made.size - 1] = 'x'; /* name without terminator */
	made_put_load(&made, 100, 0x2000, 16, 2, "second");
	give();
	assert_int_equal(dump.n_refused_lines, 4);
	at = made_begin_record(&made, MADE_DEBUG_INFO, 1);
	made_lie_about_size(&made, at, JITDUMP_DEBUG_INFO_MAX + 1);
	give();
	assert_int_equal(dump.n_refused_lines, 5);
	assert_int_equal(dump.skip, JITDUMP_DEBUG_INFO_MAX + 1 - 16);
}

static void test_loads_that_contradict_themselves_are_refused(void **state)
{
	size_t at;

	made_put_load(&made, 100, UINT64_MAX - 8, 16, 1, "behind the end");
	at = made_put_load(&made, 100, 0x1000, 16, 1, "larger than its record");
	memset(made.bytes + at + 40, 0xff, 8);
	at = made_put_load(&made, 100, 0x1000, 16, 1, "no end of its name");
	memset(made.bytes + at + 56, 'x', made.size - at - 56);
	at = made_begin_record(&made, MADE_LOAD, 100); /* too short for a load */
	made_put64(&made, 0);
	made_end_record(&made, at);
	made_put_load(&made, 100, 0x1000, 0, 1, "empty"); /* accepted, but holds no address */
	made_put_load(&made, 100, 0x2000, 16, 1, "good");
	give();
	assert_int_equal(dump.n_refused_records, 4);
	check(0x1000, NOW, NULL);
	check(0x2000, NOW, "good");
}

static void test_other_records_are_skipped(void **state)
{
	size_t at = made_begin_record(&made, 4711, 100);

	made_put(&made, "anything", 8);
	made_end_record(&made, at);
	at = made_begin_record(&made, MADE_UNWINDING_INFO, 100);
	made_put(&made, "anything", 7);
	made_end_record(&made, at);
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	give();
	check(0x1000, NOW, "first");
	assert_int_equal(dump.n_unknown, 1);
	assert_int_equal(dump.n_unwinding, 1);
	assert_false(dump.is_closed);
	made_end_record(&made, made_begin_record(&made, MADE_CLOSE, 200));
	give();
	assert_true(dump.is_closed);
	check(0x1000, NOW, "first");
}

static void test_nothing_is_read_after_an_unended_record(void **state)
{
	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	made_lie_about_size(&made, made_begin_record(&made, MADE_CLOSE, 200), 15);
	made_put_load(&made, 300, 0x1000, 16, 2, "second");
	give_as(JITDUMP_E_DAMAGED);
	give_as(JITDUMP_E_DAMAGED);
	check(0x1000, NOW, "first");
}

static void test_decreasing_times_are_clamped(void **state)
{
	made_put_load(&made, 200, 0x1000, 16, 1, "first");
	made_put_load(&made, 100, 0x2000, 16, 2, "second");
	give();
	assert_int_equal(dump.n_late, 1);
	check(0x2000, 199, NULL);
	check(0x2000, 200, "second");
	check(0x1000, 200, "first");
}

static void test_long_names_are_cut(void **state)
{
	static char name[2 * JITDUMP_NAME_MAX];
	struct jit_code code;

	memset(name, 'x', sizeof(name) - 1);
	made_put_load(&made, 100, 0x1000, 16, 1, name);
	name[JITDUMP_NAME_MAX] = 0;
	made_put_load(&made, 100, 0x2000, 16, 2, name);
	made_put_load(&made, 100, 0x3000, 16, 3, "");
	give();
	assert_true(jit_functions_find(&dump.functions, 0x1000, NOW, &code));
	assert_int_equal(strlen(code.name), JITDUMP_NAME_MAX);
	check(0x2000, NOW, name);
	check(0x3000, NOW, "");
	assert_int_equal(dump.n_cut_names, 1);
}

static void test_at_the_limit_older_code_is_forgotten(void **state)
{
	give();
	for (uint64_t i = 0; i < JIT_PIECES_MAX; i++) {
		made_put_load(&made, i, 0x1000 + 16 * i, 16, i, "old");
		give();
	}
	check(0x1000, NOW, "old");
	made_put_load(&made, JIT_PIECES_MAX, 0x1000, 16, 0, "new");
	give();
	check(0x1000, NOW, "new");
	check(0x1010, NOW, NULL);
	assert_int_equal(dump.n_forgotten_pieces, JIT_PIECES_MAX);
}

static void append(int fd)
{
	assert_int_equal(pwrite(fd, made.bytes, made.size, lseek(fd, 0, SEEK_END)), made.size);
	made.size = 0;
}

/* Cut anywhere, even within code; long code is skipped, not read. */
static void test_a_file_is_read_as_it_grows(void **state)
{
	enum { LARGE = 1 << 20 };
	_cleanup_fd_ int fd = memfd_create("jitdump", MFD_CLOEXEC);
	size_t at = made_put_load(&made, 100, 0x1000, LARGE, 1, "large");

	made_lie_about_size(&made, at, made.size - at + LARGE);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	append(fd);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	check(0x1000, NOW, "large");
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) + LARGE - 10), 0);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	made_put(&made, "0123456789", 10);
	made_put_load(&made, 100, 0x1010, 16, 2, "small");
	append(fd);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	check(0x1000, NOW, "large");
	check(0x1010, NOW, "small");
	assert_int_equal(dump.n_anew, 0);
	assert_int_equal(dump.size, lseek(fd, 0, SEEK_END));
}

static void test_a_rewritten_file_is_read_again(void **state)
{
	_cleanup_fd_ int fd = memfd_create("jitdump", MFD_CLOEXEC);

	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	made_lie_about_size(&made, made_begin_record(&made, MADE_CLOSE, 200), 15);
	append(fd);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_E_DAMAGED);
	assert_int_equal(ftruncate(fd, 0), 0);
	made_put_header(&made, 0);
	made_put_load(&made, 50, 0x2000, 16, 1, "second");
	append(fd);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	assert_int_equal(dump.n_anew, 1);
	check(0x1000, NOW, NULL);
	check(0x2000, 50, "second");
}

static void test_an_oversized_file_has_no_names(void **state)
{
	_cleanup_fd_ int fd = memfd_create("jitdump", MFD_CLOEXEC);

	made_put_load(&made, 100, 0x1000, 16, 1, "first");
	made_lie_about_size(&made, made_begin_record(&made, MADE_CLOSE, 200), UINT32_MAX);
	append(fd);
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	check(0x1000, NOW, "first");
	assert_int_equal(ftruncate(fd, JITDUMP_SIZE_MAX + 1LL), 0); /* a hole */
	assert_int_equal(jitdump_read(&dump, fd, UINT64_MAX), JITDUMP_OK);
	assert_true(dump.n_refused_bytes > 0);
	check(0x1000, NOW, NULL);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_header_is_emitted),
		TEST(test_a_file_older_than_its_process_is_ignored),
		TEST(test_records_before_the_process_are_ignored),
		TEST(test_records_of_a_child_are_ignored),
		TEST(test_a_namespace_has_pids_of_its_own),
		TEST(test_records_of_a_parent_are_ignored),
		TEST(test_other_files_are_refused),
		TEST(test_the_other_byte_order_is_refused),
		TEST(test_other_versions_are_refused),
		TEST(test_a_longer_header_is_skipped),
		TEST(test_the_code_bytes_are_located),
		TEST(test_an_address_has_the_name_of_its_time),
		TEST(test_moved_code_has_its_new_address_from_then_on),
		TEST(test_a_move_of_unknown_code_is_ignored),
		TEST(test_moved_unknown_code_hides_what_was_there),
		TEST(test_lines_are_those_of_the_function_that_follows),
		TEST(test_lines_of_another_function_are_refused),
		TEST(test_lines_may_be_in_any_order),
		TEST(test_lines_that_count_an_elf_header_are_corrected),
		TEST(test_lines_that_contradict_themselves_are_refused),
		TEST(test_loads_that_contradict_themselves_are_refused),
		TEST(test_other_records_are_skipped),
		TEST(test_nothing_is_read_after_an_unended_record),
		TEST(test_decreasing_times_are_clamped),
		TEST(test_long_names_are_cut),
		TEST(test_at_the_limit_older_code_is_forgotten),
		TEST(test_a_file_is_read_as_it_grows),
		TEST(test_a_rewritten_file_is_read_again),
		TEST(test_an_oversized_file_has_no_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
