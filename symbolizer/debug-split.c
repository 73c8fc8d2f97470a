/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/elf-section.h"
#include "symbolizer/debug-files.h"
#include "symbolizer/debug-split.h"

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

/* Adds what lies at a path, if it is more; false: libdw must not open it. */
__attribute__((format(printf, 2, 3))) static bool look(uint64_t *size, const char *format, ...)
{
	_cleanup_(debug_file_close) struct debug_file file = { .fd = -1 };
	char path[PATH_MAX];
	struct stat status;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(path, sizeof(path), format, list);
	va_end(list);
	if (length >= (int)sizeof(path))
		return false;
	/* stat(3) is another system call before glibc 2.33, which is none of ours in a sandbox. */
	if (fstatat(AT_FDCWD, path, &status, 0) < 0)
		return true;
	if (!debug_file_open(path, &file) || file.n_hidden)
		return false;
	if (elf_dwarf_size(file.elf) > *size)
		*size = elf_dwarf_size(file.elf);
	return true;
}

/* The path of the program itself, as libdw finds it out; empty: it has none. */
static void find_own_path(int fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, ret, PATH_MAX - 1);
	ret[size < 0 ? 0 : size] = '\0';
}

/* In the order of libdw/libdw_find_split_unit.c: all .dwo in one, beside the program, where built.
 */
bool debug_split_find(Dwarf_Die *skeleton, int fd, struct debug_split *ret)
{
	const char *dir = string_of(skeleton, DW_AT_comp_dir);
	const char *name = string_of(skeleton, DW_AT_dwo_name);
	char own[PATH_MAX];
	char *slash;

	*ret = (struct debug_split){ 0 };
	if (!name)
		name = string_of(skeleton, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	find_own_path(fd, own);
	if (*own && !look(&ret->package_size, "%s.dwp", own))
		return false;
	if (*name == '/')
		return look(&ret->size, "%s", name);
	slash = strrchr(own, '/');
	return (!slash || look(&ret->size, "%.*s/%s", (int)(slash - own), own, name)) &&
	       (!dir || look(&ret->size, "%s/%s", dir, name));
}
