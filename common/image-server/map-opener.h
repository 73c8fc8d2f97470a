/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the perf map of a process, in which its JIT compiler lists the code of functions:
 * /tmp/perf-PID.map below the process's root, with its PID in its own namespace. Or opens another
 * file below the root: the debug file of a container's program.
 *
 * The process is looked up once, while it lives. Its map may be written later, and outlives it.
 *
 * The file may belong to another process: an earlier one with the same PID or, where containers
 * share /tmp, one with the same PID in its own namespace. A map last changed before the process
 * began is an earlier one's; among live processes it belongs to the one that has it open for
 * writing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/image-server/image-file.h"

#define DEBUG_FILE_SIZE_MAX (1ULL << 33) /* bytes; a browser's has 4 GiB */

struct map_process {
	uint32_t pid;	/* in our namespace */
	uint64_t began; /* CLOCK_MONOTONIC; 0: unknown, and not needed (see `born`) */
	int root_fd;	/* -1: not found yet */
	uint32_t own_pid;
	uid_t user;
	gid_t group;
	uint64_t born; /* process or program, the later; nanoseconds since 1970 */

	/* The map opened last. */
	dev_t device;
	ino_t inode;	  /* 0: none yet */
	bool is_writer;	  /* the process has it open for writing */
	const char *path; /* NULL: its perf map; else the other file to open */
};

/*
 * Opens the map of a process, which is looked up first if necessary. May block for as long as a
 * file system does. The caller owns process->root_fd and ret->fd; if root_fd is still -1, retrying
 * is useless. A map older than the process is STALE.
 */
void map_open(struct map_process *process, struct image_file *ret);

/*
 * Whether both processes have found the same file and it may belong to `other`, which is alive. If
 * neither has it open for writing, it may belong to both.
 */
bool map_is_of_other(const struct map_process *process, const struct map_process *other);
