/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/file/file-system.h"
#include "common/file/file-trust.h"
#include "common/image-server/target-file.h"

static bool is_dots(const char *part, size_t size)
{
	return size <= 2 && !memcmp(part, "..", size);
}

/*
 * Fallback without openat2(2) (before Linux 5.6, or blocked by a container's filter): component by
 * component without any links, because nothing else would keep them below the root.
 */
static int look_up_by_parts(int root_fd, const char *path)
{
	_cleanup_fd_ int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 0);
	char name[NAME_MAX + 1];
	size_t size;
	int next;

	for (path += strspn(path, "/"); at >= 0 && *path; path += strspn(path, "/")) {
		size = strcspn(path, "/");
		if (is_dots(path, size) || size > NAME_MAX) {
			errno = size > NAME_MAX ? ENAMETOOLONG : EXDEV;
			return -1;
		}
		memcpy(name, path, size);
		name[size] = 0;
		path += size;
		next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	return take_fd(&at);
}

static int look_up(int root_fd, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = look_up_by_parts(root_fd, path);
	return fd;
}

/* Outcomes for errors of the file; other errors stay -errno. */
static int outcome_of_error(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return TARGET_FILE_E_DENIED;
	case ELOOP:
	case EXDEV:
		return TARGET_FILE_E_LINK;
	case ENOENT:
	case ENOTDIR:
	case ENAMETOOLONG:
	case ESTALE:
	case EAGAIN: /* of openat2(2): a component is being renamed */
		return TARGET_FILE_E_MISSING;
	default:
		return -error;
	}
}

static enum target_file_outcome judge(const struct stat *status,
				      const struct target_file_policy *policy)
{
	const struct file_writers program = { policy->user, policy->group, .any_of_group = true };

	if (S_ISLNK(status->st_mode))
		return TARGET_FILE_E_LINK;
	if (S_ISDIR(status->st_mode))
		return TARGET_FILE_E_DIRECTORY;
	if (!S_ISREG(status->st_mode))
		return TARGET_FILE_E_SPECIAL;
	if (status->st_uid != policy->user && status->st_uid != 0)
		return TARGET_FILE_E_FOREIGN;
	if (status->st_uid != policy->user && !(status->st_mode & S_IROTH))
		return TARGET_FILE_E_PRIVATE;
	if (!file_is_trusted(status, &program))
		return TARGET_FILE_E_WRITABLE;
	if ((uint64_t)status->st_size > policy->size_max)
		return TARGET_FILE_E_TOO_LARGE;
	return TARGET_FILE_OK;
}

/* Opens the file that was checked, whatever is at its path now. */
static int reopen(int found)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int target_file_open(int root_fd, const char *path, const struct target_file_policy *policy,
		     int *ret_fd)
{
	_cleanup_fd_ int found = look_up(root_fd, path), fd = -1;
	enum target_file_outcome outcome;
	struct stat status;

	if (found < 0 || fstat(found, &status) < 0)
		return outcome_of_error(errno);
	outcome = judge(&status, policy);
	if (outcome != TARGET_FILE_OK)
		return outcome;
	if (!file_system_answers(found, &status, NULL)) {
		*ret_fd = take_fd(&found);
		return TARGET_FILE_E_MAY_HANG;
	}
	fd = reopen(found);
	if (fd < 0 || fstat(fd, &status) < 0)
		return outcome_of_error(errno);
	outcome = judge(&status, policy); /* owner or size may have changed meanwhile */
	if (outcome == TARGET_FILE_OK)
		*ret_fd = take_fd(&fd);
	return outcome;
}
