/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/debug-files.h"
#include "symbolizer/dwarf/debug-split.h"

static const char *string_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(die, name, &attribute));
}

void debug_split_deinit(struct debug_split *split)
{
	while (split->n_files)
		debug_file_close(&split->files[--split->n_files]);
}

/* Adds the file at a path, if any, and raises `size` to its DWARF; false: not safe for libdw. */
__attribute__((format(printf, 4, 5))) static bool look(struct debug_split *split,
						       const struct debug_dirs *dirs,
						       uint64_t *size, const char *format, ...)
{
	struct debug_file *file = &split->files[split->n_files];
	char path[PATH_MAX];
	struct stat status;
	va_list list;
	int length;

	va_start(list, format);
	length = vsnprintf(path, sizeof(path), format, list);
	va_end(list);
	if (length >= (int)sizeof(path))
		return false;
	/* Not stat(3): before glibc 2.33 it uses another system call, which the sandbox refuses. */
	if (fstatat(AT_FDCWD, path, &status, 0) < 0)
		return true;
	if (!debug_file_open(path, dirs, file))
		return false;
	split->n_files++;
	if (elf_dwarf_size(file->elf) > *size)
		*size = elf_dwarf_size(file->elf);
	return !file->n_hidden;
}

/* The program's own path, found as libdw does; empty: none. */
static void find_own_path(int fd, char ret[PATH_MAX])
{
	char link[64];
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, ret, PATH_MAX - 1);
	ret[size < 0 ? 0 : size] = '\0';
}

/* In the order of libdw/libdw_find_split_unit.c: .dwp, beside the program, where it was built. */
static bool find(Dwarf_Die *skeleton, int fd, const struct debug_dirs *dirs,
		 struct debug_split *ret)
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
	if (*own && !look(ret, dirs, &ret->package_size, "%s.dwp", own))
		return false;
	if (*name == '/')
		return look(ret, dirs, &ret->size, "%s", name);
	slash = strrchr(own, '/');
	return (!slash || look(ret, dirs, &ret->size, "%.*s/%s", (int)(slash - own), own, name)) &&
	       (!dir || look(ret, dirs, &ret->size, "%s/%s", dir, name));
}

bool debug_split_find(Dwarf_Die *skeleton, int fd, const struct debug_dirs *dirs,
		      struct debug_split *ret)
{
	*ret = (struct debug_split){ 0 };
	if (find(skeleton, fd, dirs, ret))
		return true;
	debug_split_deinit(ret);
	return false;
}

static bool has_bytes(int fd, const char *bytes, size_t size, off_t offset)
{
	char room[1 << 14];

	while (size) {
		ssize_t n = pread(fd, room, size < sizeof(room) ? size : sizeof(room), offset);

		if (n <= 0 || memcmp(room, bytes, n))
			return false;
		bytes += n;
		size -= n;
		offset += n;
	}
	return true;
}

static bool is_same(const struct debug_file *file, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header))
			return false;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf &&
		    !has_bytes(file->fd, data->d_buf, data->d_size, header.sh_offset))
			return false;
	}
	return true;
}

bool debug_split_has_found(const struct debug_split *split, Dwarf *found)
{
	Elf *elf = dwarf_getelf(found);

	for (size_t i = 0; elf && i < split->n_files; i++)
		if (is_same(&split->files[i], elf))
			return true;
	return false;
}
