/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits on headers that claim more than the file holds: the test's own executable, damaged. */
#include <elf.h>
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
#include "common/elf/elf-limits.h"
#include "common/elf/elf-section.h"

static Elf *elf;
static int fd = -1;

/* An unlinked copy of the executable. */
static int set_up(void **state)
{
	_cleanup_file_ FILE *file = tmpfile();
	_cleanup_fd_ int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char buffer[65536];
	ssize_t n;

	while (file && (n = read(own, buffer, sizeof(buffer))) > 0)
		fwrite(buffer, n, 1, file);
	if (!file || fflush(file) != 0)
		return -1;
	fd = dup(fileno(file));
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	return elf ? 0 : -1;
}

static int tear_down(void **state)
{
	elf_end(elf);
	close(fd);
	return 0;
}

static struct elf_section find(const char *name)
{
	struct elf_section section = elf_section_before_first(elf);

	while (elf_section_next(&section))
		if (!strcmp(section.name, name))
			return section;
	fail_msg("there is no %s", name);
	return section;
}

/* Sets a section's size in its header and adds flags. */
static void claim(const char *name, uint64_t size, uint64_t more_flags)
{
	struct elf_section section = find(name);

	section.header.sh_size = size;
	section.header.sh_flags |= more_flags;
	assert_true(gelf_update_shdr(section.handle, &section.header));
}

static bool is_hidden(const char *name)
{
	return find(name).header.sh_type == SHT_NOBITS;
}

static void test_all_sections_of_a_usual_file_are_visible(void **state)
{
	assert_int_equal(elf_limits_apply(elf), 0);
	assert_true(elf_limits_hold(elf));
	assert_false(is_hidden(".symtab"));
	assert_false(is_hidden(".eh_frame"));
}

static void test_tables_have_a_limit_together(void **state)
{
	claim(".symtab", ELF_TABLES_MAX / 3 * 2, 0);
	claim(".strtab", ELF_TABLES_MAX / 3 * 2, 0);
	assert_int_equal(elf_limits_apply(elf), 1);
	assert_int_not_equal(is_hidden(".symtab"), is_hidden(".strtab"));
}

static void test_a_loaded_section_has_its_own_limit(void **state)
{
	claim(".eh_frame", ELF_LOADED_MAX, 0);
	claim(".text", ELF_LOADED_MAX + 1, 0);
	assert_int_equal(elf_limits_apply(elf), 1);
	assert_false(is_hidden(".eh_frame"));
	assert_true(is_hidden(".text"));
}

static void test_only_dwarf_sections_may_be_compressed(void **state)
{
	claim(".debug_info", 1 << 10, SHF_COMPRESSED);
	claim(".comment", 1 << 10, SHF_COMPRESSED);
	claim(".dynstr", 1 << 10, SHF_COMPRESSED);
	assert_false(elf_limits_hold(elf));
	assert_int_equal(elf_limits_apply(elf), 2);
	assert_false(is_hidden(".debug_info"));
	assert_true(is_hidden(".comment"));
	assert_true(is_hidden(".dynstr"));
}

static void test_other_sections_have_a_small_limit(void **state)
{
	claim(".debug_info", ELF_OTHER_MAX + 1, 0);
	claim(".comment", ELF_OTHER_MAX + 1, 0);
	assert_int_equal(elf_limits_apply(elf), 1);
	assert_false(is_hidden(".debug_info"));
	assert_true(is_hidden(".comment"));
}

/* Section names are not decompressed; sections then have no names. */
static void test_compressed_section_names_are_not_read(void **state)
{
	struct elf_section section;

	claim(".shstrtab", UINT64_MAX / 2, SHF_COMPRESSED);
	assert_int_equal(elf_limits_apply(elf), 1);
	section = elf_section_before_first(elf);
	assert_false(elf_section_next(&section));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all_sections_of_a_usual_file_are_visible),
		TEST(test_tables_have_a_limit_together),
		TEST(test_a_loaded_section_has_its_own_limit),
		TEST(test_only_dwarf_sections_may_be_compressed),
		TEST(test_other_sections_have_a_small_limit),
		TEST(test_compressed_section_names_are_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
