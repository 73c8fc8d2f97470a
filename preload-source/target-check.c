/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "preload-source/target-check.h"

enum { PROGRAM_HEADERS_MAX = 64, SCRIPTS_MAX = 4 };

/* The file that execvp(3) would run. */
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

/* The interpreter of a script into `path`; false: it is none. */
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
		return "it is a program of musl's, and only those of glibc can be traced";
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
	if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
		return "it is not a program of this kind of machine (x86-64, 64 bits)";
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
	return "it is statically linked: nothing can be loaded into it";
}

/* The loader trusts nobody's environment where a program has more rights than its caller. */
static const char *check_rights(const char *path, const struct stat *status)
{
	if ((status->st_mode & S_ISUID && status->st_uid != getuid()) ||
	    (status->st_mode & S_ISGID && status->st_gid != getgid()))
		return "it is setuid or setgid: run it as its owner";
	if (geteuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return "its file has capabilities";
	return NULL;
}

const char *target_check(const char *command)
{
	char path[PATH_MAX];

	if (!find_command(command, path))
		return NULL;
	for (int i = 0; i < SCRIPTS_MAX; i++) {
		_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		const char *reason;
		struct stat status;

		if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
			return NULL;
		reason = check_rights(path, &status);
		if (reason)
			return reason;
		if (!follow_script(fd, path))
			return check_elf(fd);
	}
	return NULL;
}
