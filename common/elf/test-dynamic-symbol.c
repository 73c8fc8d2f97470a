/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exported symbols are found by their names, those of the C library for example. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/elf/dynamic-symbol.h"

enum { ROUNDS = 300, DAMAGED = 8 /* bytes in each */ };

static const char *const names[] = { "malloc", "qsort", "environ", "strtoll", "no_such_function" };

static struct {
	char *bytes;
	size_t size;
} libc;

static int set_up(void **state)
{
	struct stat stat;
	Dl_info info;
	int fd;

	assert_int_not_equal(dladdr((void *)qsort, &info), 0);
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &stat), 0);
	libc.size = stat.st_size;
	libc.bytes = malloc(libc.size);
	assert_int_equal(read(fd, libc.bytes, libc.size), libc.size);
	close(fd);
	elf_version(EV_CURRENT);
	return 0;
}

static int tear_down(void **state)
{
	free(libc.bytes);
	return 0;
}

static Elf_Scn *find_section(Elf *elf, uint32_t type, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, ret) && ret->sh_type == type)
			return section;
	return NULL;
}

static void test_each_symbol_is_found(void **state)
{
	Elf *elf = elf_memory(libc.bytes, libc.size);
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(find_section(elf, SHT_DYNSYM, &header), NULL);
	size_t n = data->d_size / header.sh_entsize;
	GElf_Sym symbol, found;

	assert_true(n > 1000);
	for (size_t i = 0; i < n; i++) {
		const char *name;

		assert_non_null(gelf_getsym(data, i, &symbol));
		name = elf_strptr(elf, header.sh_link, symbol.st_name);
		if (symbol.st_shndx == SHN_UNDEF || !*name)
			continue;
		assert_true(dynamic_symbol_find(elf, name, &found));
		assert_string_equal(elf_strptr(elf, header.sh_link, found.st_name), name);
	}
	assert_false(dynamic_symbol_find(elf, "no_such_function", &found));
	elf_end(elf);
}

/* What a damaged table leads to has the name, or is not found. */
static void test_damaged_tables(void **state)
{
	GElf_Shdr header, symbols;
	Elf *elf = elf_memory(libc.bytes, libc.size);

	assert_non_null(find_section(elf, SHT_GNU_HASH, &header));
	elf_end(elf);
	srand(1);
	for (size_t round = 0; round < ROUNDS; round++) {
		char *table = libc.bytes + header.sh_offset;

		for (size_t i = 0; i < DAMAGED; i++)
			table[rand() % (round % 2 ? 16 : header.sh_size)] = rand();
		elf = elf_memory(libc.bytes, libc.size);
		find_section(elf, SHT_DYNSYM, &symbols);
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			GElf_Sym found;

			if (dynamic_symbol_find(elf, names[i], &found))
				assert_string_equal(elf_strptr(elf, symbols.sh_link, found.st_name),
						    names[i]);
		}
		elf_end(elf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_each_symbol_is_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_damaged_tables, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
