/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/file/output-file.h"

/* The system's links to our open descriptors. */
static bool is_own_descriptor(const char *path)
{
	static const char *const directories[] = { "/dev/fd/", "/proc/self/fd/" };

	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		size_t size = strlen(directories[i]);

		if (!strncmp(path, directories[i], size))
			return path[size] && !path[size + strspn(path + size, "0123456789")];
	}
	return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr");
}

bool output_file_is_special(const char *path)
{
	struct stat status;

	return is_own_descriptor(path) ||
	       (lstat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode));
}

int output_file_check(const char *path, enum output_file_mode mode)
{
	_cleanup_free_ char *copy = strdup(path);
	struct stat status;

	if (!copy)
		return -ENOMEM;
	if (mode != OUTPUT_FILE_NEW && is_own_descriptor(path))
		return 0;
	if (lstat(path, &status) == 0) {
		if (S_ISDIR(status.st_mode))
			return -EISDIR;
		if (mode == OUTPUT_FILE_NEW)
			return -EEXIST;
		if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
			return access(path, W_OK) < 0 ? -errno : 0;
	}
	return access(dirname(copy), W_OK | X_OK) < 0 ? -errno : 0;
}

static int open_there(const char *path, int flags)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags);

	return fd < 0 ? -errno : fd;
}

/* Another process may have put a regular file there since lstat(2). */
static int open_special(const char *path)
{
	_cleanup_fd_ int fd = open_there(path, O_NOFOLLOW);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	return S_ISREG(status.st_mode) ? -EEXIST : take_fd(&fd);
}

int output_file_open(const char *path, enum output_file_mode mode)
{
	struct stat status;
	int fd;

	if (mode == OUTPUT_FILE_REPLACE && is_own_descriptor(path))
		return open_there(path, 0);
	if (mode == OUTPUT_FILE_REPLACE && lstat(path, &status) == 0) {
		if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
			return open_special(path);
		if (unlink(path) < 0)
			return -errno;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}
