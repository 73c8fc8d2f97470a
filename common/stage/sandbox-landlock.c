/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Landlock (landlock(7)): only allowed files, no TCP, no signals or abstract sockets to other
 * processes, no ioctl on devices. There is no library for it; rights of later ABI versions than the
 * kernel's are left out.
 */
#include <errno.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/sandbox.h"

/* From <linux/landlock.h>, newer than Debian 12's headers; with the ABI version. */
#define TRUNCATE (1ULL << 14)  /* 3 */
#define IOCTL_DEV (1ULL << 15) /* 5 */
#define BIND_TCP (1ULL << 0)   /* 4 */
#define CONNECT_TCP (1ULL << 1)
#define SCOPE_SOCKET (1ULL << 0) /* 6 */
#define SCOPE_SIGNAL (1ULL << 1)

struct ruleset {
	uint64_t files, net, scoped;
};

/* Handled rights are refused unless a rule allows them. The first version has 13 rights. */
static struct ruleset ruleset_of(int version)
{
	struct ruleset ruleset = { .files = (1ULL << 13) - 1 };

	if (version >= 2)
		ruleset.files |= LANDLOCK_ACCESS_FS_REFER;
	if (version >= 3)
		ruleset.files |= TRUNCATE;
	if (version >= 5)
		ruleset.files |= IOCTL_DEV;
	if (version >= 4)
		ruleset.net = BIND_TCP | CONNECT_TCP;
	if (version >= 6)
		ruleset.scoped = SCOPE_SOCKET | SCOPE_SIGNAL;
	return ruleset;
}

/* Size of struct landlock_ruleset_attr by version: the kernel refuses unknown non-zero fields. */
static size_t size_of_ruleset(int version)
{
	if (version >= 6)
		return sizeof(struct ruleset);
	return version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
}

static uint64_t rights(const struct sandbox_path *path, bool is_directory)
{
	uint64_t read = LANDLOCK_ACCESS_FS_READ_FILE,
		 write = LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;

	if (is_directory) { /* directory rights; the kernel refuses them for a file */
		read |= LANDLOCK_ACCESS_FS_READ_DIR;
		write |= LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
	}
	return path->access == SANDBOX_READ ? read : read | write;
}

static int add_rule(int fd, const struct sandbox_path *path, uint64_t handled)
{
	struct landlock_path_beneath_attr rule = { .parent_fd = path->fd };
	struct stat status;

	if (fstat(path->fd, &status) < 0)
		return -errno;
	rule.allowed_access = rights(path, S_ISDIR(status.st_mode)) & handled;
	return syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ? -errno
											    : 0;
}

int sandbox_enter_landlock(const struct sandbox *sandbox, uint32_t *ret_version)
{
	int version =
		syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset ruleset = ruleset_of(version);
	_cleanup_fd_ int fd = -1;

	if (version < 0)
		return -errno;
	if (sandbox->signalled_pid) /* seccomp selects the process */
		ruleset.scoped &= ~SCOPE_SIGNAL;
	fd = syscall(SYS_landlock_create_ruleset, &ruleset, size_of_ruleset(version), 0);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; i < sandbox->n_paths; i++) {
		int r = add_rule(fd, &sandbox->paths[i], ruleset.files);

		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		return -errno;
	*ret_version = version;
	return 0;
}
