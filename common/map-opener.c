/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/target-file.h"
#include "common/whole-file.h"
#include "common/image-opener.h"
#include "common/map-opener.h"

enum { STATUS_SIZE_MAX = 1024 * 1024 }; /* it tells all groups of the user */

/*
 * The numbers of a line of /proc/PID/status, at most `n`: how many there are. No name makes another
 * line look like it: its newlines are escaped.
 */
static size_t find_numbers(const char *status, const char *line, uint32_t *ret, size_t n)
{
	const char *at = strstr(status, line);
	size_t found = 0;
	char *end;

	if (!at)
		return 0;
	for (at += strlen(line); *at == '\t' && found < n; at = end)
		ret[found++] = strtoul(at + 1, &end, 10);
	return found;
}

/* Who it is: its effective user, and the PID in the innermost of its namespaces (proc(5)). */
static bool parse_status(const char *status, struct map_process *process)
{
	enum { REAL, EFFECTIVE, NAMESPACES_MAX = 32 + 1 }; /* pid_namespaces(7): 32 may be nested */
	uint32_t users[EFFECTIVE + 1], pids[NAMESPACES_MAX];
	size_t n = find_numbers(status, "\nNSpid:", pids, NAMESPACES_MAX);

	if (!n) /* before Linux 4.1 */
		n = find_numbers(status, "\nPid:", pids, 1);
	if (!n || find_numbers(status, "\nUid:", users, EFFECTIVE + 1) != EFFECTIVE + 1)
		return false;
	process->own_pid = pids[n - 1];
	process->user = users[EFFECTIVE];
	return true;
}

/*
 * All is looked up below one descriptor of /proc/PID, which stays that of this process: another one
 * that gets its PID is not mistaken for it.
 */
static enum wire_image_status find_process(struct map_process *process)
{
	_cleanup_fd_ int fd = -1, root_fd = -1;
	_cleanup_free_ char *status = NULL;
	char path[64];
	size_t size;
	int r;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, process->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return image_status_of_error(errno);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/status", fd);
	r = whole_file_read(path, STATUS_SIZE_MAX, &status, &size);
	if (r < 0)
		return image_status_of_error(-r);
	root_fd = openat(fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return image_status_of_error(errno);
	if (!parse_status(status, process))
		return WIRE_image_status_GONE;
	process->root_fd = take_fd(&root_fd);
	return WIRE_image_status_OPEN;
}

/* `outcome`: a target_file_outcome or -errno. */
static enum wire_image_status status_of_outcome(int outcome)
{
	switch (outcome) {
	case TARGET_FILE_OK:
		return WIRE_image_status_OPEN;
	case TARGET_FILE_E_MISSING:
		return WIRE_image_status_GONE;
	case TARGET_FILE_E_DENIED:
		return WIRE_image_status_DENIED;
	default:
		return outcome < 0 ? WIRE_image_status_GONE : WIRE_image_status_REFUSED;
	}
}

static enum wire_image_status open_below_root(const struct map_process *process, int *ret_fd)
{
	const struct target_file_policy policy = {
		.user = process->user,
		.size_max = PERF_MAP_SIZE_MAX,
	};
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", process->own_pid);
	return status_of_outcome(target_file_open(process->root_fd, path, &policy, ret_fd));
}

void map_open(struct map_process *process, struct image_file *ret)
{
	enum wire_image_status status = WIRE_image_status_OPEN;
	struct stat now;

	*ret = (struct image_file){ .fd = -1 };
	if (process->root_fd < 0)
		status = find_process(process);
	if (status == WIRE_image_status_OPEN)
		status = open_below_root(process, &ret->fd);
	ret->status = status;
	if (ret->fd < 0 || fstat(ret->fd, &now) < 0)
		return;
	ret->size = now.st_size;
	ret->modified = clock_nanoseconds(now.st_mtim);
}
