/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/proc/process-status.h"
#include "common/proc/task-user.h"

enum { NAMESPACES_MAX = 32 + 1 }; /* user_namespaces(7): 32 may be nested */

static uid_t find_real_user(uint32_t pid)
{
	struct process_status status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", pid);
	return process_status_read(path, &status) < 0 ? TASK_USER_UNKNOWN : status.real_user;
}

static bool is_same(int fd, const struct stat *other)
{
	struct stat status;

	return fstat(fd, &status) == 0 && status.st_ino == other->st_ino &&
	       status.st_dev == other->st_dev;
}

/* The creator of the outermost user namespace that is not ours; -1: it is in ours, or unknown. */
static uid_t find_maker(uint32_t pid)
{
	_cleanup_fd_ int own = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC), at = -1;
	uid_t maker = TASK_USER_UNKNOWN;
	struct stat ours;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/ns/user", pid);
	at = own < 0 || fstat(own, &ours) < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	for (int n = 0; at >= 0 && n < NAMESPACES_MAX && !is_same(at, &ours); n++) {
		int parent = ioctl(at, NS_GET_PARENT);

		if (ioctl(at, NS_GET_OWNER_UID, &maker) < 0)
			maker = TASK_USER_UNKNOWN;
		close(at);
		at = parent;
	}
	return maker;
}

uid_t task_user(uint32_t pid)
{
	uid_t user = find_real_user(pid), maker = find_maker(pid);

	return maker && maker != TASK_USER_UNKNOWN ? maker : user;
}
