/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "preload-source/target-check.h"

enum { PROGRAM_HEADERS_MAX = 64, SCRIPTS_MAX = 4 };

/* Finds the file that execvp(3) would run. */
static bool find_command(const char *command, char ret[static PATH_MAX])
{
	const char *path = getenv("PATH");
	size_t size;

	if (strchr(command, '/')) {
		snprintf(ret, PATH_MAX, "%s", command);
		return true;
	}
	for (path = path ? path : "/bin:/usr/bin"; *path; path += size + (path[size] == ':')) {
		size = strcspn(path, ":");
		snprintf(ret, PATH_MAX, "%.*s%s%s", (int)size, path, size ? "/" : "", command);
		if (access(ret, X_OK) == 0)
			return true;
	}
	return false;
}

/* Stores a script's interpreter in `path`; false: it is no script. */
static bool follow_script(int fd, char path[static PATH_MAX])
{
	char line[256] = "";
	ssize_t size = pread(fd, line, sizeof(line) - 1, 0);
	char *name;

	if (size < 3 || memcmp(line, "#!", 2))
		return false;
	name = line + 2 + strspn(line + 2, " \t");
	name[strcspn(name, " \t\n")] = 0;
	snprintf(path, PATH_MAX, "%s", name);
	return true;
}

static const char *check_interpreter(const char *interpreter)
{
	if (strstr(interpreter, "ld-musl"))
		return "it is a musl program, and musl did not load the library";
	return NULL;
}

static const char *check_elf(int fd)
{
	Elf64_Ehdr header;
	Elf64_Phdr segments[PROGRAM_HEADERS_MAX];
	char interpreter[256] = "";
	size_t size;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG))
		return NULL;
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != arch_host()->elf_machine)
		return "it is not a 64-bit x86-64 program";
	if (header.e_phentsize != sizeof(*segments) || header.e_phnum > PROGRAM_HEADERS_MAX)
		return NULL;
	size = header.e_phnum * sizeof(*segments);
	if (pread(fd, segments, size, header.e_phoff) != (ssize_t)size)
		return NULL;
	for (int i = 0; i < header.e_phnum; i++) {
		if (segments[i].p_type != PT_INTERP)
			continue;
		size = segments[i].p_filesz < sizeof(interpreter) ? segments[i].p_filesz
								  : sizeof(interpreter) - 1;
		if (pread(fd, interpreter, size, segments[i].p_offset) < 0)
			return NULL;
		return check_interpreter(interpreter);
	}
	return "it is statically linked, so no library can be preloaded";
}

/* LD_PRELOAD paths are ignored if a program has more rights than its caller (ld.so(8)). */
static const char *check_rights(const char *path, const struct stat *status)
{
	if ((status->st_mode & S_ISUID && status->st_uid != getuid()) ||
	    (status->st_mode & S_ISGID && status->st_gid != getgid()))
		return "it is setuid or setgid: run it as its owner";
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "its file has capabilities: run it as root";
	return NULL;
}

/* Opens the program, or the interpreter of a script. A descriptor or -errno. */
static int open_program(const char *command, char path[static PATH_MAX], struct stat *status)
{
	if (!find_command(command, path))
		return -ENOENT;
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

		if (fd < 0 || fstat(fd, status) < 0)
			return -errno;
		if (!S_ISREG(status->st_mode))
			return -EINVAL;
		if (!follow_script(fd, path))
			return take_fd(&fd);
	}
	return -ELOOP;
}

/* Whether the program itself needs a library whose name begins with `name`. */
static bool needs_library(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL;
		     i++) {
			const char *needed =
				entry.d_tag == DT_NEEDED
					? elf_strptr(elf, header.sh_link, entry.d_un.d_val)
					: NULL;

			if (needed && !strncmp(needed, name, strlen(name)))
				return true;
		}
	}
	return false;
}

const char target_allocator[] =
	"it is linked with its own allocator (it defines malloc), which no library can intercept";

/* Whether a section of symbols defines malloc. */
static bool defines_malloc(Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;

	for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
		const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);

		if (symbol.st_shndx != SHN_UNDEF && name && !strcmp(name, "malloc"))
			return true;
	}
	return false;
}

static bool has_allocator(int fd)
{
	Elf_Scn *section = NULL;
	bool has_one = false;
	GElf_Shdr header;
	Elf *elf;

	if (elf_version(EV_CURRENT) == EV_NONE || !(elf = elf_begin(fd, ELF_C_READ, NULL)))
		return false;
	while (!has_one && (section = elf_nextscn(elf, section)))
		has_one = gelf_getshdr(section, &header) &&
			  (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB) &&
			  defines_malloc(elf, section, &header);
	elf_end(elf);
	return has_one;
}

void target_open(struct target *target, const char *command)
{
	char path[PATH_MAX];
	struct stat status;
	int fd = open_program(command, path, &status);

	*target = (struct target){ .fd = fd < 0 ? -1 : fd };
	if (fd >= 0)
		target->rights = check_rights(path, &status);
}

void target_close(struct target *target)
{
	if (target->fd >= 0)
		close(target->fd);
	target->fd = -1;
}

const char *target_check(const struct target *target)
{
	const char *reason = target->rights;

	if (!reason && target->fd >= 0)
		reason = check_elf(target->fd);
	if (!reason && target->fd >= 0 && has_allocator(target->fd))
		reason = target_allocator;
	return reason;
}

const char *target_refusal(const struct target *target)
{
	static const struct {
		const char *library, *text;
	} sanitizers[] = {
		{ "libasan.so", "it is built with AddressSanitizer, which has its own allocator: "
				"build it without" },
		{ "libtsan.so", "it is built with ThreadSanitizer, which has its own allocator: "
				"build it without" },
		{ "liblsan.so", "it is built with LeakSanitizer, which has its own allocator: "
				"build it without" },
	};
	const char *text = NULL;
	Elf *elf;

	if (target->fd < 0 || elf_version(EV_CURRENT) == EV_NONE ||
	    !(elf = elf_begin(target->fd, ELF_C_READ, NULL)))
		return NULL;
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers) && !text; i++)
		if (needs_library(elf, sanitizers[i].library))
			text = sanitizers[i].text;
	elf_end(elf);
	return text;
}
