/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers as addr2line -a -i -f would: reads addresses of FILE, as linked and in hexadecimal, one a
 * line. For each it prints the address, and then a function and its file:line:column in turn, from
 * the innermost on. The function itself has its symbol's name, as in `symbolizer`. With -C names
 *are demangled.
 *
 *	inlines [-C] FILE < ADDRESSES
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/symbols/demangle.h"
#include "symbolizer/symbols/symbol-table.h"

static const struct debug_dirs dirs = { { "/usr/lib/debug" }, 1 };

static void print_call(const struct inline_call *call, const char *name, bool is_demangled)
{
	_cleanup_free_ char *readable = is_demangled && name ? demangle(name) : NULL;

	if (readable)
		name = readable;
	printf("%s\n%s:%" PRIu32 ":%" PRIu32 "\n", name ? name : "??",
	       call->file ? call->file : "??", call->line, call->column);
}

static void answer(struct debug_info *info, const struct symbol_table *symbols, uint64_t address,
		   bool is_demangled)
{
	struct inline_call calls[DEBUG_INFO_CALLS_MAX] = { 0 };
	int n = debug_info_find(info, address, calls, DEBUG_INFO_CALLS_MAX);
	const struct symbol *symbol = symbol_table_find(symbols, address);

	printf("0x%" PRIx64 "\n", address);
	n = n > 0 ? n : 1;
	for (int i = 0; i < n; i++)
		print_call(&calls[i], i == n - 1 && symbol ? symbol->name : calls[i].name,
			   is_demangled);
}

int main(int argc, char **argv)
{
	bool is_demangled = argc > 2 && !strcmp(argv[1], "-C");
	const char *path = argv[argc - 1];
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct symbol_table symbols;
	struct debug_info *info;
	char line[64];
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || symbol_table_init(&symbols, elf, path, &dirs) < 0 ||
	    debug_info_new(elf, fd, path, &dirs, &info) != DEBUG_INFO_OK) {
		fprintf(stderr, "inlines: '%s' has no debug information\n", path);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin))
		answer(info, &symbols, strtoull(line, NULL, 16), is_demangled);
	debug_info_free(info);
	symbol_table_deinit(&symbols);
	elf_end(elf);
	return 0;
}
