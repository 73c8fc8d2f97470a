/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds unwind information in the test's own executable, hidden and damaged. */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/cleanup.h"
#include "common/unwind/unwind-source.h"

static unsigned char *own;
static size_t own_size;

static int set_up(void **state)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/exe", "re");

	elf_version(EV_CURRENT);
	if (!file || fseek(file, 0, SEEK_END) < 0)
		return -1;
	own_size = ftell(file);
	rewind(file);
	own = malloc(own_size);
	return own && fread(own, own_size, 1, file) == 1 ? 0 : -1;
}

static int tear_down(void **state)
{
	free(own);
	return 0;
}

/* A copy of the executable that may be damaged. */
struct copy {
	unsigned char *bytes;
	Elf64_Ehdr *header;
	Elf64_Shdr *eh_frame;
	Elf64_Phdr *eh_frame_header;
};

static void copy_deinit(struct copy *copy)
{
	free(copy->bytes);
}

static struct copy copy_new(void)
{
	struct copy copy = { .bytes = malloc(own_size) };
	const Elf64_Shdr *names;
	Elf64_Shdr *sections;
	Elf64_Phdr *segments;

	memcpy(copy.bytes, own, own_size);
	copy.header = (void *)copy.bytes;
	sections = (void *)(copy.bytes + copy.header->e_shoff);
	segments = (void *)(copy.bytes + copy.header->e_phoff);
	names = &sections[copy.header->e_shstrndx];
	for (size_t i = 0; i < copy.header->e_shnum; i++)
		if (!strcmp((char *)copy.bytes + names->sh_offset + sections[i].sh_name,
			    ".eh_frame"))
			copy.eh_frame = &sections[i];
	for (size_t i = 0; i < copy.header->e_phnum; i++)
		if (segments[i].p_type == PT_GNU_EH_FRAME)
			copy.eh_frame_header = &segments[i];
	assert_non_null(copy.eh_frame);
	assert_non_null(copy.eh_frame_header);
	return copy;
}

#define _cleanup_copy_ _cleanup_(copy_deinit)

static void hide_sections(struct copy *copy)
{
	copy->header->e_shoff = 0;
	copy->header->e_shnum = 0;
	copy->header->e_shstrndx = 0;
}

/* Like unwind_bytes_read() for a file in memory with the executable's segments. */
static int read_bytes(const struct copy *copy, struct unwind_bytes *ret)
{
	const Elf64_Ehdr *header = (const void *)own;
	const Elf64_Phdr *segments = (const void *)(own + header->e_phoff);
	struct elf_segment list[16];
	struct elf_image image = { .fd = -1, .segments = list };
	int r;

	for (size_t i = 0; i < header->e_phnum; i++)
		if (segments[i].p_type == PT_LOAD)
			list[image.n_segments++] = (struct elf_segment){
				.offset = segments[i].p_offset,
				.size = segments[i].p_filesz,
				.address = segments[i].p_vaddr,
				.is_executable = segments[i].p_flags & PF_X,
			};
	image.elf = elf_memory((char *)copy->bytes, own_size);
	assert_non_null(image.elf);
	r = unwind_bytes_read(&image, ret);
	elf_end(image.elf);
	return r;
}

static struct unwind_table compile(const struct copy *copy)
{
	_cleanup_(unwind_bytes_deinit) struct unwind_bytes bytes;
	struct unwind_table table;

	assert_int_equal(read_bytes(copy, &bytes), 0);
	assert_int_equal(unwind_table_compile(&bytes.source, &table), 0);
	return table;
}

static void assert_same(const struct unwind_table *table, const struct unwind_table *other)
{
	assert_int_equal(table->size, other->size);
	assert_memory_equal(table->header, other->header, table->size);
}

static int find_own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(uint64_t *)arg = info->dlpi_addr;
	return 1;
}

static void test_a_function_has_a_rule(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	_cleanup_(unwind_table_deinit) struct unwind_table table = compile(&copy);
	const Elf64_Phdr *segment = (const void *)(own + copy.header->e_phoff);
	const struct unwind_rule *rule;
	uint64_t base, address;

	dl_iterate_phdr(find_own_base, &base);
	address = (uint64_t)(uintptr_t)test_a_function_has_a_rule - base;
	while (segment->p_type != PT_LOAD || address - segment->p_vaddr >= segment->p_filesz)
		segment++;
	rule = unwind_table_find(&table, address - segment->p_vaddr + segment->p_offset);
	assert_non_null(rule);
	assert_int_equal(rule->cfa, UNWIND_CFA_SP);
	assert_int_equal(rule->cfa_offset, 8);
	assert_int_equal(rule->return_address, UNWIND_VALUE_AT_CFA);
	assert_int_equal(rule->return_address_offset, -8);
}

/* PT_GNU_EH_FRAME yields .eh_frame up to its segment's end, more than the section. */
static void test_a_file_without_sections_gives_the_same_table(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	_cleanup_(unwind_table_deinit) struct unwind_table table = compile(&copy), other = { 0 };

	hide_sections(&copy);
	other = compile(&copy);
	assert_same(&table, &other);
}

/* ld leaves it empty if all is in .debug_frame; other sections must still be used. */
static void test_an_empty_section_is_ignored(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	_cleanup_(unwind_table_deinit) struct unwind_table table = compile(&copy), other = { 0 };
	struct unwind_bytes bytes;

	copy.eh_frame->sh_size = 0;
	other = compile(&copy);
	assert_same(&table, &other);
	copy.eh_frame_header->p_type = PT_NULL;
	assert_int_equal(read_bytes(&copy, &bytes), 0);
	assert_int_equal(bytes.source.n_sections, 0);
	unwind_bytes_deinit(&bytes);
}

/* As in separate debug files. */
static void test_a_nobits_section_is_ignored(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	struct unwind_bytes bytes;

	copy.eh_frame->sh_type = SHT_NOBITS;
	copy.eh_frame_header->p_type = PT_NULL;
	assert_int_equal(read_bytes(&copy, &bytes), 0);
	assert_int_equal(bytes.source.n_sections, 0);
	unwind_bytes_deinit(&bytes);
	hide_sections(&copy);
	assert_int_equal(read_bytes(&copy, &bytes), 0);
	assert_int_equal(bytes.source.n_sections, 0);
	unwind_bytes_deinit(&bytes);
}

static void test_a_section_that_cannot_be_read_is_reported(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	struct unwind_bytes bytes;

	copy.eh_frame->sh_size = UNWIND_SECTION_MAX + 1ULL;
	assert_int_equal(read_bytes(&copy, &bytes), -EFBIG);
	copy.eh_frame->sh_size = UNWIND_SECTION_MAX;
	assert_int_equal(read_bytes(&copy, &bytes), -EBADMSG);
	copy.eh_frame->sh_size = 16;
	copy.eh_frame->sh_offset = own_size - 8;
	assert_int_equal(read_bytes(&copy, &bytes), -EBADMSG);
	copy.eh_frame->sh_flags |= SHF_COMPRESSED;
	assert_int_equal(read_bytes(&copy, &bytes), -EBADMSG);
}

static void test_an_unsupported_machine_is_reported(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	struct unwind_bytes bytes;

	copy.header->e_machine = EM_S390;
	assert_int_equal(read_bytes(&copy, &bytes), -ENOTSUP);
}

/* Flips bits in what leads to the section and in its first bytes. */
static void test_flipped_bits_are_reported_or_harmless(void **state)
{
	_cleanup_copy_ struct copy copy = copy_new();
	const struct {
		void *at;
		size_t size;
	} parts[] = {
		{ copy.header, sizeof(*copy.header) },
		{ copy.eh_frame, sizeof(*copy.eh_frame) },
		{ copy.eh_frame_header, sizeof(*copy.eh_frame_header) },
		{ copy.bytes + copy.eh_frame_header->p_offset, 8 },
	};

	for (size_t part = 0; part < sizeof(parts) / sizeof(parts[0]); part++) {
		if (part == 2)
			hide_sections(&copy);
		for (size_t i = 0; i < parts[part].size * 8; i++) {
			unsigned char *byte = (unsigned char *)parts[part].at + i / 8;
			struct unwind_bytes bytes;
			struct unwind_table table;

			*byte ^= 1 << i % 8;
			if (read_bytes(&copy, &bytes) == 0) {
				assert_int_equal(unwind_table_compile(&bytes.source, &table), 0);
				unwind_table_deinit(&table);
				unwind_bytes_deinit(&bytes);
			}
			*byte ^= 1 << i % 8;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_has_a_rule),
		cmocka_unit_test(test_a_file_without_sections_gives_the_same_table),
		cmocka_unit_test(test_an_empty_section_is_ignored),
		cmocka_unit_test(test_a_nobits_section_is_ignored),
		cmocka_unit_test(test_a_section_that_cannot_be_read_is_reported),
		cmocka_unit_test(test_an_unsupported_machine_is_reported),
		cmocka_unit_test(test_flipped_bits_are_reported_or_harmless),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
