/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One program (tests/programs/named-functions.c) in every form that distributions ship; its symbols
 * must be the same wherever they are stored. The argument is make-debug-files' output directory.
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
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>
#include <gelf.h>

#include "common/base/cleanup.h"
#include "symbolizer/symbols/symbol-table.h"

static const char *fixtures;	 /* directory of the files */
static uint64_t local, exported; /* addresses of the two functions */
static char dir[] = "/tmp/stackpipe-test-XXXXXX";
static struct debug_dirs no_dirs, dirs = { { dir }, 1 };

static int remove_all(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static int set_up(void **state)
{
	strcpy(dir + sizeof(dir) - 7, "XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	return remove_all();
}

/* The path of a fixture, valid for four calls. */
static const char *fixture(const char *name)
{
	static char paths[4][4096];
	static int i;

	i = (i + 1) % 4;
	snprintf(paths[i], sizeof(paths[i]), "%s/%s", fixtures, name);
	return paths[i];
}

/* Copies a fixture to a path in the temporary directory, making directories as needed. */
static const char *put(const char *name, const char *at)
{
	static char path[4096];
	char command[16384];

	snprintf(path, sizeof(path), "%s/%s", dir, at);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\" && cp '%s' '%s'", path,
		 fixture(name), path);
	assert_int_equal(system(command), 0);
	return path;
}

/* The path of `name`'s debug file below a debug directory, by its build-id. */
static const char *build_id_path(const char *name)
{
	static char path[256];
	int fd = open(fixture(name), O_RDONLY | O_CLOEXEC), used;
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const unsigned char *id;
	ssize_t size = dwelf_elf_gnu_build_id(elf, (const void **)&id);

	assert_int_equal(size, 20);
	used = sprintf(path, ".build-id/%02x/", id[0]);
	for (ssize_t i = 1; i < size; i++)
		used += sprintf(path + used, "%02x", id[i]);
	strcpy(path + used, ".debug");
	elf_end(elf);
	close(fd);
	return path;
}

struct opened {
	int fd;
	Elf *elf;
	struct symbol_table table;
};

static void open_table(struct opened *opened, const char *path, const struct debug_dirs *where)
{
	opened->fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(opened->fd >= 0);
	opened->elf = elf_begin(opened->fd, ELF_C_READ, NULL);
	assert_non_null(opened->elf);
	assert_int_equal(symbol_table_init(&opened->table, opened->elf, path, where), 0);
}

static void close_table(struct opened *opened)
{
	symbol_table_deinit(&opened->table);
	elf_end(opened->elf);
	close(opened->fd);
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	struct symbol *symbol = symbol_table_find(table, address);

	return symbol ? symbol_name(symbol) : "none";
}

/* Checks the names of both functions; the exported one is always named by .dynsym. */
static void check(const char *path, const struct debug_dirs *where, const char *local_name)
{
	char exported_found[64], local_found[64];
	struct opened opened;

	open_table(&opened, path, where);
	snprintf(exported_found, sizeof(exported_found), "%s", name_at(&opened.table, exported));
	snprintf(local_found, sizeof(local_found), "%s", name_at(&opened.table, local));
	close_table(&opened);
	assert_string_equal(exported_found, "exported_function");
	assert_string_equal(local_found, local_name);
}

static void test_the_whole_file_names_all_functions(void **state)
{
	struct opened opened;
	struct symbol *symbol;

	check(fixture("full"), &no_dirs, "local_function");
	open_table(&opened, fixture("full"), &no_dirs);
	symbol = symbol_table_find(&opened.table, local);
	assert_true(symbol->size > 1);
	assert_ptr_equal(symbol_table_find(&opened.table, local + symbol->size - 1), symbol);
	assert_ptr_not_equal(symbol_table_find(&opened.table, local + symbol->size), symbol);
	assert_null(symbol_table_find(&opened.table, 0));
	assert_null(symbol_table_find(&opened.table, UINT64_MAX));
	for (size_t i = 1; i < opened.table.n; i++)
		assert_true(opened.table.list[i - 1].address < opened.table.list[i].address);
	assert_null(opened.table.debug.elf); /* no debug file was opened */
	close_table(&opened);
}

/* _init has no size and must not name the PLT that follows it. */
static void test_a_symbol_without_a_size_ends_with_its_section(void **state)
{
	struct opened opened;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;
	int n_found = 0;

	open_table(&opened, fixture("full"), &no_dirs);
	assert_int_equal(elf_getshdrstrndx(opened.elf, &names), 0);
	while ((section = elf_nextscn(opened.elf, section))) {
		gelf_getshdr(section, &header);
		if (strcmp(elf_strptr(opened.elf, names, header.sh_name), ".init"))
			continue;
		n_found++;
		assert_string_equal(name_at(&opened.table, header.sh_addr), "_init");
		assert_string_equal(name_at(&opened.table, header.sh_addr + header.sh_size - 1),
				    "_init");
		assert_string_not_equal(name_at(&opened.table, header.sh_addr + header.sh_size),
					"_init");
	}
	close_table(&opened);
	if (!n_found)
		skip();
}

static void test_a_sizeless_symbol_ends_at_the_next(void **state)
{
	struct opened opened;
	uint64_t unsized = 0, sized = 0, behind = 0;

	open_table(&opened, fixture("full"), &no_dirs);
	for (size_t i = 0; i < opened.table.n; i++) {
		const struct symbol *symbol = &opened.table.list[i];

		if (!strcmp(symbol->name, "unsized_function"))
			unsized = symbol->address;
		if (!strcmp(symbol->name, "sized_function"))
			sized = symbol->address;
		if (!strcmp(symbol->name, "unsized_function_behind"))
			behind = symbol->address;
	}
	assert_true(unsized && sized && behind);
	assert_string_equal(name_at(&opened.table, sized - 1), "unsized_function");
	assert_string_equal(name_at(&opened.table, sized), "sized_function");
	assert_string_equal(name_at(&opened.table, behind - 1), "none");
	assert_string_equal(name_at(&opened.table, behind), "unsized_function_behind");
	close_table(&opened);
}

static void test_a_stripped_file_names_what_it_exports(void **state)
{
	check(fixture("stripped"), &no_dirs, "none");
	check(fixture("stripped"), &dirs, "none");
}

static void test_a_debug_file_is_found_by_build_id(void **state)
{
	put("full.debug", build_id_path("full"));
	check(fixture("stripped"), &dirs, "local_function");
	check(fixture("stripped"), &no_dirs, "none");
}

static void test_each_debug_directory_is_looked_in(void **state)
{
	struct debug_dirs several = { { "/nowhere", "", dir }, 3 };

	put("full.debug", build_id_path("full"));
	check(fixture("stripped"), &several, "local_function");
}

static void test_a_debug_file_is_found_by_its_link(void **state)
{
	const char *path = put("linked", "usr/bin/program");

	check(path, &no_dirs, "none");
	put("full.debug", "usr/bin/full.debug");
	path = put("linked", "usr/bin/program");
	check(path, &no_dirs, "local_function");
}

static void test_a_debug_file_is_found_in_dot_debug(void **state)
{
	const char *path;

	put("full.debug", "usr/bin/.debug/full.debug");
	path = put("linked", "usr/bin/program");
	check(path, &no_dirs, "local_function");
}

static void test_a_debug_file_is_found_in_the_global_directory(void **state)
{
	char under[4096];

	/* <debug directory>/<directory of the file>/<link> */
	snprintf(under, sizeof(under), "%s/usr/bin/full.debug", dir + 1);
	put("full.debug", under);
	check(put("linked", "usr/bin/program"), &dirs, "local_function");
	check(put("linked", "usr/bin/program"), &no_dirs, "none");
}

static void test_a_debug_file_of_another_build_is_refused(void **state)
{
	const char *path;

	put("other.debug", build_id_path("full"));
	check(fixture("stripped"), &dirs, "none");
	put("other.debug", "usr/bin/full.debug");
	path = put("linked", "usr/bin/program");
	check(path, &dirs, "none");
	put("without-id.debug", "usr/bin/full.debug");
	path = put("linked", "usr/bin/program");
	check(path, &dirs, "none");
}

static void test_without_a_build_id_the_checksum_decides(void **state)
{
	struct opened opened;
	const char *path;

	put("without-id.debug", "without-id.debug");
	path = put("linked-without-id", "program");
	open_table(&opened, path, &no_dirs);
	assert_non_null(opened.table.debug.elf);
	close_table(&opened);
	put("full.debug", "without-id.debug");
	path = put("linked-without-id", "program");
	open_table(&opened, path, &no_dirs);
	assert_null(opened.table.debug.elf);
	close_table(&opened);
}

static void test_symbols_are_found_in_the_compressed_section(void **state)
{
	check(fixture("mini"), &no_dirs, "local_function");
}

static void test_a_damaged_compressed_section_is_skipped(void **state)
{
	check(fixture("mini-cut"), &no_dirs, "none");
	check(fixture("mini-garbage"), &no_dirs, "none");
	check(fixture("mini-text"), &no_dirs, "none");
	check(fixture("mini-bomb"), &no_dirs, "none");
}

/* debug-files.h: only files with a .symtab count; a stripped copy has the same build-id. */
static void test_a_debug_file_without_symbols_hides_none(void **state)
{
	put("stripped", build_id_path("full"));
	check(fixture("mini"), &dirs, "local_function");
}

static void test_a_stripped_neighbour_hides_no_debug_file(void **state)
{
	char under[4096];
	const char *path;

	snprintf(under, sizeof(under), "%s/usr/bin/full.debug", dir + 1);
	put("full.debug", under);
	put("stripped", "usr/bin/full.debug");
	path = put("linked", "usr/bin/program");
	check(path, &dirs, "local_function");
}

static void test_only_regular_debug_files_are_opened(void **state)
{
	char path[512], at[256];
	const char *linked;

	snprintf(at, sizeof(at), "%s", build_id_path("full"));
	put("full.debug", at);
	snprintf(path, sizeof(path), "%s/%s", dir, at);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	check(fixture("stripped"), &dirs, "none");
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	check(fixture("stripped"), &dirs, "none");
	rmdir(path);
	linked = put("linked", "program");
	snprintf(path, sizeof(path), "%s/full.debug", dir);
	assert_int_equal(mkfifo(path, 0600), 0);
	check(linked, &dirs, "none");
}

/* The link names the file that contains it. */
static void test_a_link_to_itself_is_not_followed(void **state)
{
	check(put("linked", "full.debug"), &no_dirs, "none");
}

static void test_a_garbage_debug_file_is_ignored(void **state)
{
	char path[512];
	FILE *file;

	put("full.debug", build_id_path("full"));
	snprintf(path, sizeof(path), "%s/%s", dir, build_id_path("full"));
	for (size_t size = 0; size < 4096; size += 61) {
		put("full.debug", build_id_path("full"));
		assert_int_equal(truncate(path, size), 0);
		check(fixture("stripped"), &dirs, "none");
	}
	file = fopen(path, "we");
	fputs("!<arch>\n", file);
	fclose(file);
	check(fixture("stripped"), &dirs, "none");
}

/* Sets every 64-bit word of a whole file to all ones in turn; nothing may crash. */
static void test_a_damaged_file_is_harmless(void **state)
{
	_cleanup_file_ FILE *file = fopen(fixture("full"), "re");
	unsigned char *bytes, *kept;
	size_t size;

	fseek(file, 0, SEEK_END);
	size = ftell(file);
	rewind(file);
	kept = malloc(size);
	bytes = malloc(size);
	assert_int_equal(fread(kept, size, 1, file), 1);
	for (size_t at = 16; at + 8 <= size; at += at < 4096 || at > size - 4096 ? 8 : 88) {
		struct symbol_table table;
		Elf *elf;

		memcpy(bytes, kept, size);
		memset(bytes + at, 0xff, 8);
		elf = elf_memory((char *)bytes, size);
		if (elf && symbol_table_init(&table, elf, "/nowhere/file", &no_dirs) == 0) {
			for (uint64_t address = 0; address < size; address += 512)
				name_at(&table, address);
			symbol_table_deinit(&table);
		}
		elf_end(elf);
	}
	free(bytes);
	free(kept);
}

/* A hand-made table. */
static void test_a_nested_symbol_hides_nothing_after_it(void **state)
{
	struct symbol list[] = {
		{ .address = 0x1000, .size = 0x1000, .name = "outer", .suffix = "" },
		{ .address = 0x1100, .size = 0x10, .name = "inner", .suffix = "" },
		{ .address = 0x3000, .size = 0, .name = "empty", .suffix = "" },
	};
	struct symbol_table table = { .list = list, .n = 3, .debug.fd = -1 };

	assert_string_equal(name_at(&table, 0x1000), "outer");
	assert_string_equal(name_at(&table, 0x1100), "inner");
	assert_string_equal(name_at(&table, 0x110f), "inner");
	assert_string_equal(name_at(&table, 0x1110), "outer");
	assert_string_equal(name_at(&table, 0x1fff), "outer");
	assert_string_equal(name_at(&table, 0x2000), "none");
	assert_string_equal(name_at(&table, 0x3000), "none");
	table.n = 0;
	assert_string_equal(name_at(&table, 0x1000), "none");
}

static void test_a_name_is_demangled_once(void **state)
{
	struct symbol symbol = { .name = "_Z3fooi", .suffix = "" };
	struct symbol plain = { .name = "main", .suffix = "" };
	struct symbol stub = { .name = "_Z3fooi", .suffix = "@plt" };
	const char *first = symbol_name(&symbol);

	assert_string_equal(first, "foo(int)");
	assert_ptr_equal(symbol_name(&symbol), first);
	assert_ptr_equal(symbol_name(&plain), plain.name);
	assert_string_equal(symbol_name(&stub), "foo(int)@plt");
	free(symbol.full_name);
	free(stub.full_name);
}

/* The addresses of the two functions from the unstripped file, the reference for all others. */
static void find_functions(void)
{
	struct opened opened;

	open_table(&opened, fixture("full"), &no_dirs);
	for (size_t i = 0; i < opened.table.n; i++) {
		if (!strcmp(opened.table.list[i].name, "local_function"))
			local = opened.table.list[i].address;
		if (!strcmp(opened.table.list[i].name, "exported_function"))
			exported = opened.table.list[i].address;
	}
	close_table(&opened);
}

static int set_up_group(void **state)
{
	elf_version(EV_CURRENT);
	find_functions();
	return local && exported ? 0 : -1;
}

int main(int argc, char **argv)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_the_whole_file_names_all_functions),
		TEST(test_a_symbol_without_a_size_ends_with_its_section),
		TEST(test_a_sizeless_symbol_ends_at_the_next),
		TEST(test_a_stripped_file_names_what_it_exports),
		TEST(test_a_debug_file_is_found_by_build_id),
		TEST(test_each_debug_directory_is_looked_in),
		TEST(test_a_debug_file_is_found_by_its_link),
		TEST(test_a_debug_file_is_found_in_dot_debug),
		TEST(test_a_debug_file_is_found_in_the_global_directory),
		TEST(test_a_debug_file_of_another_build_is_refused),
		TEST(test_without_a_build_id_the_checksum_decides),
		TEST(test_symbols_are_found_in_the_compressed_section),
		TEST(test_a_damaged_compressed_section_is_skipped),
		TEST(test_a_debug_file_without_symbols_hides_none),
		TEST(test_a_stripped_neighbour_hides_no_debug_file),
		TEST(test_only_regular_debug_files_are_opened),
		TEST(test_a_link_to_itself_is_not_followed),
		TEST(test_a_garbage_debug_file_is_ignored),
		TEST(test_a_damaged_file_is_harmless),
		TEST(test_a_nested_symbol_hides_nothing_after_it),
		TEST(test_a_name_is_demangled_once),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	fixtures = argv[1];
	return cmocka_run_group_tests(tests, set_up_group, NULL);
}
