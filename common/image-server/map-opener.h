/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the perf map of a process: the file in which its JIT compiler tells where the code of each
 * function is. It is /tmp/perf-PID.map as the process sees it: below its root, and with the PID
 * that it has in its own namespace.
 *
 * Or it is another file below its root: the debug file of a program of a container.
 *
 * The process is found once, while it lives. Its map may be written later, and is there when the
 * process has gone.
 *
 * What lies there need not be its own: an earlier process may have had the PID, or, where
 * containers share /tmp, another process has the same one in its own namespace. A file that was
 * last changed before the process began is an earlier one's; of processes that live at the same
 * time, it is that one's which has it open to write.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/image-server/image-file.h"

#define DEBUG_FILE_SIZE_MAX (1ULL << 33) /* bytes; a browser's has 4 GiB */

struct map_process {
	uint32_t pid;	/* as we know it */
	uint64_t began; /* of CLOCK_MONOTONIC; 0: not known, nor needed: see `born` */
	int root_fd;	/* -1: it was not found yet */
	uint32_t own_pid;
	uid_t user;
	gid_t group;
	uint64_t born; /* the process or its program, the later; nanoseconds since 1970 */

	/* Of the map that was opened last. */
	dev_t device;
	ino_t inode;	  /* 0: none was opened yet */
	bool is_writer;	  /* the process has it open to write */
	const char *path; /* NULL: of its perf map; else of another file that is wanted */
};

/*
 * Opens the map of a process, which is found first if it was not yet. May wait for as long as a
 * file system lets it wait. The caller owns process->root_fd and ret->fd; with a root_fd that is
 * still -1 it is of no use to try again. What is older than the process is STALE.
 */
void map_open(struct map_process *process, struct image_file *ret);

/*
 * Whether two processes have found the same file, and it may be that of the other, which still
 * lives. Without a writer among them it may be that of both.
 */
bool map_is_of_other(const struct map_process *process, const struct map_process *other);
