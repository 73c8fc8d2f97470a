/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/debug-split.h"

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

__attribute__((format(printf, 2, 3))) static bool is_safe(uint64_t size_max, const char *format,
							  ...)
{
	char path[PATH_MAX];
	struct stat status;
	va_list list;
	int size;

	va_start(list, format);
	size = vsnprintf(path, sizeof(path), format, list);
	va_end(list);
	if (size >= (int)sizeof(path))
		return false;
	return stat(path, &status) < 0 ||
	       (S_ISREG(status.st_mode) && (uint64_t)status.st_size <= size_max);
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
bool debug_split_is_safe(Dwarf_Die *skeleton, int fd, uint64_t size_max)
{
	const char *dir = string_of(skeleton, DW_AT_comp_dir);
	const char *name = string_of(skeleton, DW_AT_dwo_name);
	char own[PATH_MAX];
	char *slash;

	if (!name)
		name = string_of(skeleton, DW_AT_GNU_dwo_name);
	if (!name)
		return false;
	find_own_path(fd, own);
	if (*own && !is_safe(size_max, "%s.dwp", own))
		return false;
	if (*name == '/')
		return is_safe(size_max, "%s", name);
	slash = strrchr(own, '/');
	return (!slash || is_safe(size_max, "%.*s/%s", (int)(slash - own), own, name)) &&
	       (!dir || is_safe(size_max, "%s/%s", dir, name));
}
