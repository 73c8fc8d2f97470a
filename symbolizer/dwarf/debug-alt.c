/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdwelf.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-section.h"
#include "symbolizer/dwarf/debug-alt.h"

enum { PATH_SIZE = 4096 };

/* The content of .gnu_debugaltlink. */
struct link {
	const char *path;
	const void *id;
	size_t id_size;
};

static bool is_meant(Elf *elf, const struct link *link, uint64_t size_max)
{
	const void *id;

	return dwelf_elf_gnu_build_id(elf, &id) == (ssize_t)link->id_size &&
	       !memcmp(id, link->id, link->id_size) && elf_dwarf_size(elf) <= size_max;
}

static bool try_path(const char *path, const struct debug_dirs *dirs, const struct link *link,
		     uint64_t size_max, struct debug_file *ret)
{
	if (!debug_file_open(path, dirs, ret))
		return false;
	if (is_meant(ret->elf, link, size_max))
		return true;
	debug_file_close(ret);
	return false;
}

/* Looks by build-id, at the link's path, and in each directory's .dwz by the link's name. */
static bool find(const struct link *link, const char *path, const struct debug_dirs *dirs,
		 uint64_t size_max, struct debug_file *ret)
{
	const char *slash = strrchr(path, '/'), *name = strrchr(link->path, '/');
	char candidate[PATH_SIZE];

	for (size_t i = 0; i < dirs->n; i++)
		if (debug_file_build_id_path(dirs->list[i], link->id, link->id_size, candidate,
					     sizeof(candidate)) &&
		    try_path(candidate, dirs, link, size_max, ret))
			return true;
	if (*link->path == '/')
		snprintf(candidate, sizeof(candidate), "%s", link->path);
	else
		snprintf(candidate, sizeof(candidate), "%.*s%s",
			 slash ? (int)(slash + 1 - path) : 0, path, link->path);
	if (try_path(candidate, dirs, link, size_max, ret))
		return true;
	for (size_t i = 0; i < dirs->n; i++) {
		snprintf(candidate, sizeof(candidate), "%s/.dwz/%s", dirs->list[i],
			 name ? name + 1 : link->path);
		if (try_path(candidate, dirs, link, size_max, ret))
			return true;
	}
	return false;
}

/* An ELF file with one byte of DWARF, too few for a unit. */
struct empty_elf {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[24];
};

static const struct empty_elf empty_elf = {
	.header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_EXEC,
		.e_machine = EM_NONE, /* its DWARF has no code */
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct empty_elf, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	},
	.sections[1] = {
		.sh_name = 1,
		.sh_type = SHT_PROGBITS,
		.sh_offset = offsetof(struct empty_elf, names),
		.sh_size = 1,
		.sh_addralign = 1,
	},
	.sections[2] = {
		.sh_name = 13,
		.sh_type = SHT_STRTAB,
		.sh_offset = offsetof(struct empty_elf, names),
		.sh_size = sizeof(empty_elf.names),
		.sh_addralign = 1,
	},
	.names = "\0.debug_info\0.shstrtab",
};

static int open_empty(struct debug_file *ret)
{
	_cleanup_(debug_file_close) struct debug_file file = { .fd = -1 };

	file.memory = malloc(sizeof(empty_elf));
	if (!file.memory)
		return -ENOMEM;
	memcpy(file.memory, &empty_elf, sizeof(empty_elf));
	file.elf = elf_memory(file.memory, sizeof(empty_elf));
	if (!file.elf)
		return -ENOMEM;
	*ret = file;
	file = (struct debug_file){ .fd = -1 };
	return 0;
}

int debug_alt_attach(struct debug_alt *alt, Dwarf *dwarf, const char *path,
		     const struct debug_dirs *dirs, uint64_t size_max)
{
	struct link link;
	ssize_t id_size = dwelf_dwarf_gnu_debugaltlink(dwarf, &link.path, &link.id);
	int r;

	*alt = (struct debug_alt){ .file.fd = -1 };
	if (id_size <= 0)
		return 0;
	link.id_size = id_size;
	if (find(&link, path, dirs, size_max, &alt->file))
		alt->dwarf = dwarf_begin_elf(alt->file.elf, DWARF_C_READ, NULL);
	if (!alt->dwarf) {
		debug_file_close(&alt->file);
		r = open_empty(&alt->file);
		if (r < 0)
			return r;
		alt->dwarf = dwarf_begin_elf(alt->file.elf, DWARF_C_READ, NULL);
	}
	if (!alt->dwarf) {
		debug_file_close(&alt->file);
		return -ENOMEM;
	}
	dwarf_setalt(dwarf, alt->dwarf);
	return 0;
}

uint64_t debug_alt_size(const struct debug_alt *alt)
{
	return alt->dwarf ? elf_dwarf_size(alt->file.elf) : 0;
}

void debug_alt_deinit(struct debug_alt *alt)
{
	dwarf_end(alt->dwarf);
	debug_file_close(&alt->file);
	*alt = (struct debug_alt){ .file.fd = -1 };
}
