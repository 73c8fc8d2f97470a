/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/elf/elf-image.h"
#include "common/stage/helper-process.h"
#include "perf-source/perf/uprobe-place.h"

enum { SYMBOL_SIZE_MAX = 4096 };

struct place {
	char *file, *symbol; /* owned */
};

struct uprobe_answer {
	int error;
	uint64_t offset;
};

static void place_deinit(struct place *place)
{
	free(place->file);
	free(place->symbol);
}

/* "FILE:SYMBOL": a path may contain colons, a symbol does not. */
static int parse_place(const char *text, struct place *ret)
{
	const char *symbol = strrchr(text, ':');

	if (!symbol || symbol == text || !symbol[1] || strlen(symbol) > SYMBOL_SIZE_MAX)
		return -EINVAL;
	ret->file = strndup(text, symbol - text);
	ret->symbol = strdup(symbol + 1);
	return ret->file && ret->symbol ? 0 : -ENOMEM;
}

/* Names in .symtab may end with "@" and a version. */
static bool is_named(const char *name, const char *wanted)
{
	size_t size = strlen(wanted);

	return name && !strncmp(name, wanted, size) && (!name[size] || name[size] == '@');
}

static bool find_in_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *name,
			  GElf_Sym *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;

	for (size_t i = 0; i < n && i < INT32_MAX; i++)
		if (gelf_getsym(data, i, ret) && GELF_ST_TYPE(ret->st_info) == STT_FUNC &&
		    ret->st_shndx != SHN_UNDEF &&
		    is_named(elf_strptr(elf, header->sh_link, ret->st_name), name))
			return true;
	return false;
}

static bool find_symbol(Elf *elf, const char *name, GElf_Sym *ret)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
		    find_in_table(elf, section, &header, name, ret))
			return true;
	return false;
}

/* Takes `fd` over. */
static int find_offset(int fd, const struct place *place, uint64_t *ret)
{
	struct elf_image image;
	GElf_Sym symbol;

	if (elf_image_open_descriptor(fd, 0, &image) != ELF_IMAGE_OK)
		return -ENOEXEC;
	if (!find_symbol(image.elf, place->symbol, &symbol))
		return -ESRCH;
	return elf_image_offset(&image, symbol.st_value, ret) ? 0 : -ESRCH;
}

/* Runs in the helper, whose only descriptors are the file and the pipe. */
static _Noreturn void answer(const struct place *place)
{
	enum { FILE_FD = HELPER_PROCESS_FD, PIPE_FD };
	struct uprobe_answer answer = { .error = -EPERM };

	if (helper_process_confine_reader(SCMP_SYS(write)))
		answer.error = find_offset(FILE_FD, place, &answer.offset);
	_exit(write(PIPE_FD, &answer, sizeof(answer)) != sizeof(answer));
}

static int ask_helper(int fd, const struct place *place, uint64_t *ret)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	struct uprobe_answer found;
	int ends[2], status;
	ssize_t size;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ours = ends[0];
	theirs = ends[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (helper_process_begin("uprobe-finder", (const int[]){ fd, theirs }, 2))
			answer(place);
		_exit(1);
	}
	close(take_fd(&theirs));
	size = read(ours, &found, sizeof(found));
	waitpid(pid, &status, 0);
	if (size != sizeof(found)) /* the helper died while reading the file */
		return -ENOEXEC;
	*ret = found.offset;
	return found.error;
}

int uprobe_place_find(const char *text, int *ret_fd, uint64_t *ret_offset)
{
	__attribute__((cleanup(place_deinit))) struct place place = { 0 };
	_cleanup_fd_ int fd = -1;
	struct stat status;
	int r = parse_place(text, &place);

	if (r < 0)
		return r;
	fd = open(place.file, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOEXEC;
	r = ask_helper(fd, &place, ret_offset);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}
