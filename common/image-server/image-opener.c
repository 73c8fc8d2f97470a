/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/file/file-system.h"
#include "common/file/file-trust.h"
#include "common/image-server/image-opener.h"
#include "common/proc/process-status.h"
#include "common/stream/file-identity.h"
#include "common/stream/jitdump-path.h"

/* proc(5): a link to the mapped file itself, even if it was deleted. */
static int find_mapping(const struct wire_image_open *request)
{
	char path[96];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64,
		 request->pid, request->start, request->start + request->length);
	return open(path, O_PATH | O_CLOEXEC);
}

/* The path as the process sees it; no link leads out of its root. */
static int find_under_root(const struct wire_image_open *request)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	_cleanup_fd_ int root = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root", request->pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	return syscall(SYS_openat2, root, request->path.data, &how, sizeof(how));
}

/* For a process that has exited. */
static int find_path(const struct wire_image_open *request)
{
	return open(request->path.data, O_PATH | O_CLOEXEC);
}

/* Opens a found file for reading, through a path of our own so that no link is followed. */
static int reopen(int found)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

enum wire_image_status image_status_of_error(int error)
{
	return error == EACCES || error == EPERM ? WIRE_image_status_DENIED
						 : WIRE_image_status_GONE;
}

/*
 * Another user may have put a file where a program keeps its jitdump: as with a perf map, only the
 * program's own counts (target-file.h). After its exit the owner is unknown.
 */
static bool may_be_reported_by_others(const struct wire_image_open *request,
				      const struct stat *status)
{
	struct process_status process;
	struct file_writers program;
	bool is_known;
	char path[32];

	if (!jitdump_path_is(request->path.data))
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", request->pid);
	is_known = process_status_read(path, &process) == 0;
	program = (struct file_writers){ process.user, process.group, .any_of_group = true };
	return !file_is_trusted(status, is_known ? &program : NULL);
}

/* Opens a candidate. Takes `found` over. */
static enum wire_image_status try_found(const struct wire_image_open *request, int found,
					struct image_file *file)
{
	_cleanup_fd_ int owned = found;
	struct stat status;

	if (found < 0 || fstat(found, &status) < 0)
		return image_status_of_error(errno);
	if (!file_identity_is(found, &status, request->device_major, request->device_minor,
			      request->inode))
		return WIRE_image_status_GONE;
	if (!S_ISREG(status.st_mode) || may_be_reported_by_others(request, &status))
		return WIRE_image_status_REFUSED;
	file->state = file_state_of(&status);
	if (!file_system_answers(found, &status, NULL)) {
		/* A jitdump grows, so a copy would be outdated. */
		if (jitdump_path_is(request->path.data))
			return WIRE_image_status_REFUSED;
		file->fd = take_fd(&owned);
		file->is_path = true;
		return WIRE_image_status_OPEN;
	}
	file->fd = reopen(found);
	return file->fd < 0 ? image_status_of_error(errno) : WIRE_image_status_OPEN;
}

void image_open(const struct wire_image_open *request, struct image_file *ret)
{
	static int (*const ways[])(const struct wire_image_open *) = {
		find_mapping,
		find_under_root,
		find_path,
	};
	enum wire_image_status status;

	*ret = (struct image_file){ .fd = -1, .status = WIRE_image_status_GONE };
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		status = try_found(request, ways[i](request), ret);
		/* DENIED and REFUSED say more than GONE, so they stay. */
		if (status != WIRE_image_status_GONE)
			ret->status = status;
		if (status == WIRE_image_status_OPEN)
			return;
	}
}
