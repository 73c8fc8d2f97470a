/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/capabilities.h"
#include "common/base/cleanup.h"
#include "common/stage/sandbox.h"

void sandbox_allow(struct sandbox *sandbox, const int *calls, size_t n)
{
	if (n > SANDBOX_CALLS_MAX - sandbox->n_calls) {
		sandbox->error = -E2BIG;
		return;
	}
	memcpy(sandbox->calls + sandbox->n_calls, calls, n * sizeof(*calls));
	sandbox->n_calls += n;
}

static void add_path(struct sandbox *sandbox, int fd, enum sandbox_access access)
{
	if (sandbox->n_paths < SANDBOX_PATHS_MAX) {
		sandbox->paths[sandbox->n_paths++] = (struct sandbox_path){ fd, access };
		return;
	}
	sandbox->error = -E2BIG;
	close(fd);
}

/* Whether a path leads nowhere, or nowhere where we may read: then there is nothing to allow. */
static bool leads_nowhere(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP ||
	       error == ENAMETOOLONG;
}

void sandbox_allow_path(struct sandbox *sandbox, const char *path, enum sandbox_access access)
{
	int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd >= 0)
		add_path(sandbox, fd, access);
	else if (!leads_nowhere(errno))
		sandbox->error = -errno;
}

void sandbox_allow_directory(struct sandbox *sandbox, int fd, enum sandbox_access access)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0)
		add_path(sandbox, copy, access);
	else
		sandbox->error = -errno;
}

void sandbox_allow_signals(struct sandbox *sandbox, pid_t pid)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(kill));
	sandbox->signalled_pid = pid;
}

static bool is_of_the_machine(const char *name)
{
	static const char *const names[] = { ".", "..", "proc", "sys", "dev", "etc", "run" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

bool sandbox_programs_have(const char *path)
{
	char name[NAME_MAX + 1];
	size_t size = strcspn(path + 1, "/");

	if (size > NAME_MAX)
		return false;
	memcpy(name, path + 1, size);
	name[size] = '\0';
	return !is_of_the_machine(name);
}

void sandbox_allow_programs(struct sandbox *sandbox)
{
	_cleanup_dir_ DIR *root = opendir("/");
	struct dirent *entry;
	char path[sizeof(entry->d_name) + 1];

	while (root && (entry = readdir(root))) {
		snprintf(path, sizeof(path), "/%s", entry->d_name);
		/* A link's target lies below another entry, or must not be read. */
		if (entry->d_type != DT_LNK && !is_of_the_machine(entry->d_name))
			sandbox_allow_path(sandbox, path, SANDBOX_READ);
	}
}

static bool limit(int resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return false;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	if (limit.rlim_cur > limit.rlim_max)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) == 0;
}

/* Present bytes of data and stack: a preloaded allocator may have reserved a GiB. */
static uint64_t data_size(void)
{
	_cleanup_file_ FILE *file = fopen("/proc/self/statm", "re");
	uint64_t n_pages;

	if (!file || fscanf(file, "%*u %*u %*u %*u %*u %" SCNu64, &n_pages) != 1)
		return 0;
	return n_pages * sysconf(_SC_PAGESIZE);
}

/* A core file would contain what was read. Sanitizers need more memory than there is. */
static bool enter_limits(const struct sandbox *sandbox)
{
	uint64_t memory_max = RLIM_INFINITY;

	if (!SANDBOX_IS_FOR_TESTS && sandbox->memory_max)
		memory_max = data_size() + sandbox->memory_max;
	return limit(RLIMIT_CORE, 0) && limit(RLIMIT_DATA, memory_max);
}

/* The order matters: each step takes away what the earlier ones need. */
int sandbox_enter(struct sandbox *sandbox)
{
	if (sandbox->error)
		return sandbox->error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
		sandbox->parts |= WIRE_sandbox_parts_NO_NEW_PRIVILEGES;
	if (enter_limits(sandbox))
		sandbox->parts |= WIRE_sandbox_parts_LIMITS;
	if (!SANDBOX_IS_FOR_TESTS && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
		sandbox->parts |= WIRE_sandbox_parts_NOT_DUMPABLE;
	if (capabilities_keep(NULL, 0))
		sandbox->parts |= WIRE_sandbox_parts_NO_CAPABILITIES;
	if (!SANDBOX_IS_FOR_TESTS &&
	    sandbox_enter_landlock(sandbox, &sandbox->landlock_version) == 0)
		sandbox->parts |= WIRE_sandbox_parts_LANDLOCK;
	if (sandbox_enter_seccomp(sandbox) == 0 && !SANDBOX_IS_FOR_TESTS)
		sandbox->parts |= WIRE_sandbox_parts_SECCOMP;
	return 0;
}

void sandbox_deinit(struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->n_paths; i++)
		close(sandbox->paths[i].fd);
	sandbox->n_paths = 0;
}
