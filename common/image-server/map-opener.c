/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/file/read-file.h"
#include "common/image-server/image-opener.h"
#include "common/image-server/map-opener.h"
#include "common/image-server/target-file.h"
#include "common/proc/proc.h"
#include "common/proc/process-status.h"

enum {
	DESCRIPTORS_MAX = 1 << 16, /* of a process, examined */
	/*
	 * The kernel stamps inodes with the time of its last tick, and reports a process's start in
	 * ticks of 10 ms: the tolerance for both.
	 */
	TICKS_NS = 20 * 1000 * 1000,
};

/* Converts nanoseconds of another clock to CLOCK_REALTIME, as both clocks are set now. */
static uint64_t to_realtime(uint64_t time, clockid_t clock)
{
	return clock_now(CLOCK_REALTIME) - clock_now(clock) + time;
}

static bool find_birth(int proc_fd, struct map_process *process)
{
	_cleanup_free_ char *stat = NULL;
	uint64_t born;
	char path[64];
	size_t size;

	snprintf(path, sizeof(path), "/proc/self/fd/%d/stat", proc_fd);
	if (read_file(path, PROC_STAT_SIZE_MAX, &stat, &size) < 0 || !proc_parse_start(stat, &born))
		return false;
	process->born = to_realtime(born, CLOCK_BOOTTIME);
	if (process->began) {
		uint64_t began = to_realtime(process->began, CLOCK_MONOTONIC);

		process->born = began > process->born ? began : process->born;
	}
	return true;
}

/*
 * Looks everything up below one descriptor of /proc/PID, which stays that of this process even if
 * the PID is reused.
 */
static enum wire_image_status find_process(struct map_process *process)
{
	_cleanup_fd_ int fd = -1, root_fd = -1;
	struct process_status status;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%" PRIu32, process->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return image_status_of_error(errno);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/status", fd);
	r = process_status_read(path, &status);
	if (r < 0)
		return image_status_of_error(-r);
	root_fd = openat(fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return image_status_of_error(errno);
	if (!find_birth(fd, process))
		return WIRE_image_status_GONE;
	process->own_pid = status.own_pid;
	process->user = status.user;
	process->group = status.group;
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

/*
 * Where a file system may never answer, a debug file, which does not change, is copied; a map is
 * refused, because it grows and a copy would be outdated.
 */
static enum wire_image_status open_below_root(const struct map_process *process,
					      struct image_file *file)
{
	const struct target_file_policy policy = {
		.user = process->user,
		.group = process->group,
		.size_max = process->path ? DEBUG_FILE_SIZE_MAX : PERF_MAP_SIZE_MAX,
	};
	char path[64];
	int outcome;

	snprintf(path, sizeof(path), "/tmp/perf-%" PRIu32 ".map", process->own_pid);
	outcome = target_file_open(process->root_fd, process->path ? process->path : path, &policy,
				   &file->fd);
	if (outcome != TARGET_FILE_E_MAY_HANG)
		return status_of_outcome(outcome);
	file->is_path = process->path;
	if (file->is_path)
		return WIRE_image_status_OPEN;
	close(take_fd(&file->fd));
	return WIRE_image_status_REFUSED;
}

/* Whether the process has the file open for writing. */
static bool is_writer(uint32_t pid, const struct stat *map)
{
	_cleanup_dir_ DIR *directory = NULL;
	const struct dirent *entry;
	struct stat status, link;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/fd", pid);
	directory = opendir(path);
	for (int n = 0; directory && n < DESCRIPTORS_MAX && (entry = readdir(directory)); n++) {
		int fd = dirfd(directory);

		/* The mode of the link shows how the file is open (proc(5)). */
		if (entry->d_type == DT_LNK &&
		    fstatat(fd, entry->d_name, &status, AT_STATX_DONT_SYNC) == 0 &&
		    status.st_dev == map->st_dev && status.st_ino == map->st_ino &&
		    fstatat(fd, entry->d_name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
		    link.st_mode & S_IWUSR)
			return true;
	}
	return false;
}

/* Any user can set a file's mtime, but not its ctime. */
static bool is_older(const struct stat *map, const struct map_process *process)
{
	return clock_nanoseconds(map->st_ctim) + TICKS_NS < process->born;
}

/* Records a map that may be the process's; false: it is an earlier process's. */
static bool claim(struct map_process *process, const struct stat *map)
{
	if (is_older(map, process))
		return false;
	process->device = map->st_dev;
	process->inode = map->st_ino;
	process->is_writer = is_writer(process->pid, map);
	return true;
}

static bool lives(uint32_t pid)
{
	struct stat status;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	/* stat(3) before glibc 2.33 uses a system call that the sandbox does not allow. */
	return fstatat(AT_FDCWD, path, &status, 0) == 0;
}

bool map_is_of_other(const struct map_process *process, const struct map_process *other)
{
	return process->inode && process->inode == other->inode &&
	       process->device == other->device && process->pid != other->pid &&
	       (other->is_writer || !process->is_writer) && lives(other->pid);
}

void map_open(struct map_process *process, struct image_file *ret)
{
	enum wire_image_status status = WIRE_image_status_OPEN;
	struct stat now;

	*ret = (struct image_file){ .fd = -1 };
	if (process->root_fd < 0)
		status = find_process(process);
	if (status == WIRE_image_status_OPEN)
		status = open_below_root(process, ret);
	ret->status = status;
	if (ret->fd < 0 || fstat(ret->fd, &now) < 0)
		return;
	if (!process->path && !claim(process, &now)) {
		close(ret->fd);
		*ret = (struct image_file){ .fd = -1, .status = WIRE_image_status_STALE };
		return;
	}
	ret->state = file_state_of(&now);
}
