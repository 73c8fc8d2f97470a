/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One program (tests/programs/inlines.cc) with several compilers' DWARF, in its original and in
 * other forms. The argument is make-inlines' output directory; what could not be made is skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/symbols/demangle.h"
#include "symbolizer/symbols/symbol-table.h"

enum { PATH_SIZE = 4096, TEXT_SIZE = 16384 };

static const char *fixtures; /* directory of the files */
static const struct debug_dirs no_dirs;

/* A program whose addresses are looked up. */
struct subject {
	int fd;
	Elf *elf;
	struct symbol_table symbols;
	struct debug_info *info;
};

/* One tool's answer for one address. */
struct answer {
	uint64_t address;
	int n;
	struct inline_call calls[DEBUG_INFO_CALLS_MAX];
	char text[TEXT_SIZE];
};

/* A tool's answers in order. */
struct other {
	FILE *file;
	bool has_columns;
	char next[TEXT_SIZE]; /* the line read ahead */
};

static const char *fixture(const char *name, const char *suffix)
{
	static char path[PATH_SIZE];

	snprintf(path, sizeof(path), "%s/%s%s", fixtures, name, suffix);
	return path;
}

static void close_subject(struct subject *subject)
{
	debug_info_free(subject->info);
	symbol_table_deinit(&subject->symbols);
	elf_end(subject->elf);
	if (subject->fd >= 0)
		close(subject->fd);
}

/* Skips the test if the program is missing. */
static struct subject open_subject(const char *name, const char *suffix)
{
	const char *path = fixture(name, suffix);
	struct subject subject = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	if (subject.fd < 0)
		skip();
	elf_version(EV_CURRENT);
	subject.elf = elf_begin(subject.fd, ELF_C_READ, NULL);
	assert_non_null(subject.elf);
	assert_int_equal(symbol_table_init(&subject.symbols, subject.elf, path, &no_dirs), 0);
	assert_int_equal(debug_info_new(subject.elf, subject.fd, path, &no_dirs, &subject.info),
			 DEBUG_INFO_OK);
	return subject;
}

/* Like symbolizer: the function itself is named by its symbol. */
static void ask(struct subject *subject, struct answer *answer)
{
	struct symbol *symbol = symbol_table_find(&subject->symbols, answer->address);

	answer->n = debug_info_find(subject->info, answer->address, answer->calls,
				    DEBUG_INFO_CALLS_MAX);
	assert_true(answer->n >= 0);
	if (!answer->n)
		answer->calls[answer->n++] = (struct inline_call){ 0 };
	if (symbol)
		answer->calls[answer->n - 1].name = symbol->name;
}

static bool open_other(const char *name, const char *who, bool has_columns, struct other *ret)
{
	*ret = (struct other){ .file = fopen(fixture(name, who), "re"),
			       .has_columns = has_columns };
	return ret->file && fgets(ret->next, sizeof(ret->next), ret->file);
}

static void close_other(struct other *other)
{
	if (other->file)
		fclose(other->file);
}

/* Cuts off and returns the number after the last colon; 0 if it is not a number. */
static uint32_t cut_number(char *place)
{
	char *colon = strrchr(place, ':');

	if (!colon)
		return 0;
	*colon = 0;
	return strtoul(colon + 1, NULL, 10);
}

/* Copies the line to a place where it stays valid. */
static char *take_line(struct other *other, struct answer *answer, size_t *used)
{
	char *line = answer->text + *used;
	int n = snprintf(line, TEXT_SIZE - *used, "%s", other->next);

	assert_true(n < (int)(TEXT_SIZE - *used));
	line[strcspn(line, "\n")] = 0;
	*used += n + 1;
	if (!fgets(other->next, sizeof(other->next), other->file))
		*other->next = 0;
	return line;
}

/* The next answer; its address is on a line of its own. */
static bool read_answer(struct other *other, struct answer *ret)
{
	size_t used = 0;

	while (*other->next == '\n')
		take_line(other, ret, &used);
	if (!*other->next)
		return false;
	ret->address = strtoull(take_line(other, ret, &used), NULL, 16);
	for (ret->n = 0; *other->next && *other->next != '\n' && strncmp(other->next, "0x", 2);
	     ret->n++) {
		struct inline_call *call = &ret->calls[ret->n];

		assert_true(ret->n < DEBUG_INFO_CALLS_MAX);
		call->name = take_line(other, ret, &used);
		call->file = take_line(other, ret, &used);
		call->column = other->has_columns ? cut_number((char *)call->file) : 0;
		call->line = cut_number((char *)call->file);
	}
	return true;
}

/* Without linkage name other tools omit the scopes of a function's declaration. */
static bool is_qualified(const char *ours, const char *theirs)
{
	size_t size = strlen(ours), rest = strlen(theirs);

	return size > rest + 2 && !strcmp(ours + size - rest, theirs) &&
	       !strncmp(ours + size - rest - 2, "::", 2);
}

/* The two mangled names of a constructor demangle to the same text. */
static bool is_same_name(const char *ours, const char *theirs)
{
	_cleanup_free_ char *our_text = demangle(ours), *their_text = demangle(theirs);
	const char *left = our_text ? our_text : ours, *right = their_text ? their_text : theirs;

	return !strcmp(left, right) || is_qualified(left, right);
}

static bool is_same_file(const char *left, const char *right)
{
	_cleanup_free_ char *left_path = NULL, *right_path = NULL;

	if (!strcmp(left, right))
		return true;
	left_path = realpath(left, NULL);
	right_path = realpath(right, NULL);
	return left_path && right_path && !strcmp(left_path, right_path);
}

static const char *or_unknown(const char *text)
{
	return text ? text : "??";
}

static bool is_same(const struct answer *ours, const struct answer *theirs, bool has_columns)
{
	if (ours->n != theirs->n)
		return false;
	for (int i = 0; i < ours->n; i++) {
		const struct inline_call *left = &ours->calls[i], *right = &theirs->calls[i];

		if (left->line != right->line || (has_columns && left->column != right->column) ||
		    !is_same_name(or_unknown(left->name), or_unknown(right->name)) ||
		    !is_same_file(or_unknown(left->file), or_unknown(right->file)))
			return false;
	}
	return true;
}

/*
 * Compares each answer: 99.5 % must equal llvm-symbolizer's or addr2line's. addr2line alone differs
 * too often to be the reference.
 */
static void check_against_others(const char *name)
{
	_cleanup_(close_other) struct other llvm = { 0 }, addr2line = { 0 };
	_cleanup_(close_subject) struct subject subject = { .fd = -1 };
	struct answer ours, theirs;
	size_t n = 0, n_same = 0;

	if (!open_other(name, ".llvm", true, &llvm))
		skip();
	subject = open_subject(name, "");
	assert_true(open_other(name, ".addr2line", false, &addr2line));
	while (read_answer(&addr2line, &theirs)) {
		bool is_right;

		ours.address = theirs.address;
		ask(&subject, &ours);
		is_right = is_same(&ours, &theirs, false);
		assert_true(read_answer(&llvm, &theirs));
		assert_int_equal(ours.address, theirs.address);
		is_right |= is_same(&ours, &theirs, true);
		n++;
		n_same += is_right;
	}
	print_message("%s: %zu of %zu answers are the same\n", name, n_same, n);
	assert_true(n > 1000);
	assert_true(n_same * 1000 >= n * 995);
}

/* Another form of a program must give the same answers. */
static void check_against_plain(const char *name, const char *how)
{
	_cleanup_(close_subject) struct subject plain = open_subject(name, "");
	_cleanup_(close_subject) struct subject other = open_subject(name, how);
	_cleanup_file_ FILE *addresses = fopen(fixture(name, ".addresses"), "re");
	struct answer left, right;
	char line[64];
	size_t n = 0;

	assert_non_null(addresses);
	for (; fgets(line, sizeof(line), addresses); n++) {
		left.address = right.address = strtoull(line, NULL, 16);
		ask(&plain, &left);
		ask(&other, &right);
		assert_true(is_same(&left, &right, true));
	}
	assert_true(n > 1000);
}

static void test_gcc_dwarf_2(void **state)
{
	check_against_others("gcc-2");
}

static void test_gcc_dwarf_4(void **state)
{
	check_against_others("gcc-4");
}

static void test_gcc_dwarf_5(void **state)
{
	check_against_others("gcc-5");
}

static void test_gcc_link_time_optimization(void **state)
{
	check_against_others("gcc-lto");
}

static void test_gcc_type_units(void **state)
{
	check_against_others("gcc-types");
}

static void test_clang_dwarf_4(void **state)
{
	check_against_others("clang-4");
}

static void test_clang_dwarf_5(void **state)
{
	check_against_others("clang-5");
}

static void test_compressed_sections(void **state)
{
	check_against_plain("gcc-5", "-zlib");
	check_against_plain("gcc-5", "-zlib-gnu");
}

static void test_sections_compressed_by_zstd(void **state)
{
	check_against_plain("gcc-5", "-zstd");
}

static void test_split_dwarf_of_gcc(void **state)
{
	check_against_plain("gcc-4", "-split");
	check_against_plain("gcc-5", "-split");
}

static void test_split_dwarf_of_clang(void **state)
{
	check_against_plain("clang-4", "-split");
	check_against_plain("clang-5", "-split");
}

static void test_split_dwarf_in_a_package(void **state)
{
	check_against_plain("gcc-4", "-dwp");
	check_against_plain("gcc-5", "-dwp");
	check_against_plain("clang-4", "-dwp");
	check_against_plain("clang-5", "-dwp");
}

static void test_dwz(void **state)
{
	check_against_plain("gcc-4", "-dwz");
	check_against_plain("gcc-5", "-dwz");
}

static void test_dwz_of_several_files(void **state)
{
	check_against_plain("gcc-4", "-shared");
	check_against_plain("gcc-5", "-shared");
}

/* DWARF 2 has no ranges: a unit's code outside of .text is only in .debug_aranges. */
static void test_strict_dwarf_2_knows_all_lines(void **state)
{
	_cleanup_(close_subject) struct subject subject = open_subject("gcc-2-strict", "");
	_cleanup_file_ FILE *addresses = fopen(fixture("gcc-2-strict", ".addresses"), "re");
	size_t n = 0, n_known = 0;
	struct answer answer;
	char line[64];

	assert_non_null(addresses);
	for (; fgets(line, sizeof(line), addresses); n++) {
		answer.address = strtoull(line, NULL, 16);
		ask(&subject, &answer);
		n_known += answer.calls[0].line > 0;
	}
	assert_true(n > 1000 &&
		    n_known * 100 >= n * 95); /* the C library's startup code has none */
}

/* Files whose DWARF was opened; they stay open until all tests have run. */
static struct {
	Elf *elf;
	int fd;
} opened[16];
static size_t n_opened;

static int open_info(const char *path, const struct debug_dirs *dirs, struct debug_info **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);

	assert_true(n_opened < sizeof(opened) / sizeof(opened[0]));
	opened[n_opened].elf = elf;
	opened[n_opened++].fd = fd;
	return elf ? debug_info_new(elf, fd, path, dirs, ret) : DEBUG_INFO_E_NONE;
}

static void close_opened(void)
{
	while (n_opened) {
		n_opened--;
		elf_end(opened[n_opened].elf);
		close(opened[n_opened].fd);
	}
}

/* Opens a copy in another directory, without the files that it refers to. */
static struct debug_info *open_elsewhere(const char *name, const char *also, const char *also_as,
					 const struct debug_dirs *dirs)
{
	char dir[] = "/tmp/stackpipe-test-XXXXXX", command[4 * PATH_SIZE], path[64];
	struct debug_info *info = NULL;

	assert_non_null(mkdtemp(dir));
	snprintf(command, sizeof(command), "cp '%s/%s' %s/program", fixtures, name, dir);
	assert_int_equal(system(command), 0);
	if (also) {
		snprintf(command, sizeof(command), "cp '%s/%s' %s/%s", fixtures, also, dir,
			 also_as);
		assert_int_equal(system(command), 0);
	}
	snprintf(path, sizeof(path), "%s/program", dir);
	assert_int_equal(open_info(path, dirs, &info), DEBUG_INFO_OK);
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	return info;
}

/* Compares a file's answers with those of the program itself. */
static void check_never_wrong(const char *name, struct debug_info *info, bool is_complete)
{
	_cleanup_(close_subject) struct subject plain = open_subject(name, "");
	_cleanup_file_ FILE *addresses = fopen(fixture(name, ".addresses"), "re");
	size_t n = 0, n_unnamed = 0;
	struct answer left;
	char line[64];

	assert_non_null(addresses);
	for (; fgets(line, sizeof(line), addresses); n++) {
		struct inline_call calls[DEBUG_INFO_CALLS_MAX];
		int n_calls;

		left.address = strtoull(line, NULL, 16);
		left.n =
			debug_info_find(plain.info, left.address, left.calls, DEBUG_INFO_CALLS_MAX);
		n_calls = debug_info_find(info, left.address, calls, DEBUG_INFO_CALLS_MAX);
		assert_true(n_calls <= left.n);
		for (int i = 0; i < n_calls; i++) {
			n_unnamed += !calls[i].name;
			if (calls[i].name && n_calls == left.n)
				assert_string_equal(calls[i].name, left.calls[i].name);
		}
	}
	assert_true(n > 1000);
	assert_true(is_complete ? n_unnamed == 0 : n_unnamed > 0);
}

static void test_dwz_files_are_found_in_debug_directories(void **state)
{
	char dir[PATH_SIZE], command[2 * PATH_SIZE];
	struct debug_dirs dirs = { { dir }, 1 };
	struct debug_info *info;

	if (access(fixture("gcc-5", "-shared"), R_OK) < 0)
		skip();
	snprintf(dir, sizeof(dir), "%s/debug", fixtures);
	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir -p debug/.dwz && cp gcc-5.common debug/.dwz", fixtures);
	assert_int_equal(system(command), 0);
	info = open_elsewhere("gcc-5-shared", NULL, NULL, &dirs);
	check_never_wrong("gcc-5", info, true);
	debug_info_free(info);
}

static void test_another_dwz_file_is_refused(void **state)
{
	struct debug_info *info;

	if (access(fixture("gcc-5", "-shared"), R_OK) < 0)
		skip();
	info = open_elsewhere("gcc-5-shared", "gcc-4.common", "gcc-5.common", &no_dirs);
	check_never_wrong("gcc-5", info, false);
	debug_info_free(info);
}

static void test_a_file_without_dwarf_is_reported(void **state)
{
	struct debug_info *info = NULL;
	const char *path = fixture("gcc-5", "-stripped");

	if (access(path, R_OK) < 0)
		skip();
	assert_int_equal(open_info(path, &no_dirs, &info), DEBUG_INFO_E_NONE);
	assert_null(info);
}

/* The debug file of a stripped program has no code, but its addresses. */
static void test_a_separate_file_answers_as_the_whole(void **state)
{
	const char *path = fixture("gcc-5", "-separate");
	struct debug_info *info;

	if (access(path, R_OK) < 0)
		skip();
	assert_int_equal(open_info(path, &no_dirs, &info), DEBUG_INFO_OK);
	check_never_wrong("gcc-5", info, true);
	debug_info_free(info);
}

static void test_a_short_list_gets_the_function_alone(void **state)
{
	_cleanup_(close_subject) struct subject subject = open_subject("gcc-5", "");
	_cleanup_file_ FILE *addresses = fopen(fixture("gcc-5", ".addresses"), "re");
	struct answer answer;
	size_t n_inlined = 0;
	char line[64];

	assert_non_null(addresses);
	while (fgets(line, sizeof(line), addresses)) {
		struct inline_call alone[1];

		answer.address = strtoull(line, NULL, 16);
		answer.n = debug_info_find(subject.info, answer.address, answer.calls,
					   DEBUG_INFO_CALLS_MAX);
		if (answer.n < 2)
			continue;
		n_inlined++;
		assert_int_equal(debug_info_find(subject.info, answer.address, alone, 1), 1);
		assert_string_equal(alone[0].name, answer.calls[answer.n - 1].name);
		assert_null(alone[0].file);
		assert_int_equal(alone[0].line, 0);
	}
	assert_true(n_inlined > 1000);
	assert_int_equal(debug_info_refused(subject.info)->calls, n_inlined);
}

static void test_addresses_without_code_have_no_answer(void **state)
{
	_cleanup_(close_subject) struct subject subject = open_subject("gcc-5", "");
	struct inline_call call;

	assert_int_equal(debug_info_find(subject.info, 0, &call, 1), 0);
	assert_int_equal(debug_info_find(subject.info, UINT64_MAX, &call, 1), 0);
	assert_int_equal(debug_info_find(subject.info, UINT64_MAX / 2, &call, 1), 0);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gcc_dwarf_2),
		cmocka_unit_test(test_gcc_dwarf_4),
		cmocka_unit_test(test_gcc_dwarf_5),
		cmocka_unit_test(test_gcc_link_time_optimization),
		cmocka_unit_test(test_gcc_type_units),
		cmocka_unit_test(test_clang_dwarf_4),
		cmocka_unit_test(test_clang_dwarf_5),
		cmocka_unit_test(test_compressed_sections),
		cmocka_unit_test(test_sections_compressed_by_zstd),
		cmocka_unit_test(test_split_dwarf_of_gcc),
		cmocka_unit_test(test_split_dwarf_of_clang),
		cmocka_unit_test(test_split_dwarf_in_a_package),
		cmocka_unit_test(test_dwz),
		cmocka_unit_test(test_dwz_of_several_files),
		cmocka_unit_test(test_strict_dwarf_2_knows_all_lines),
		cmocka_unit_test(test_dwz_files_are_found_in_debug_directories),
		cmocka_unit_test(test_another_dwz_file_is_refused),
		cmocka_unit_test(test_a_file_without_dwarf_is_reported),
		cmocka_unit_test(test_a_separate_file_answers_as_the_whole),
		cmocka_unit_test(test_a_short_list_gets_the_function_alone),
		cmocka_unit_test(test_addresses_without_code_have_no_answer),
	};
	int n_failed;

	if (argc < 2)
		return 77;
	fixtures = argv[1];
	n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	close_opened();
	return n_failed;
}
