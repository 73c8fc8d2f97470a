/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the perf map of a process: the file in which its JIT compiler tells where the code of each
 * function is. It is /tmp/perf-PID.map as the process sees it: below its root, and with the PID
 * that it has in its own namespace.
 *
 * The process is found once, while it lives. Its map may be written later, and is there when the
 * process has gone.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "common/image-file.h"

struct map_process {
	uint32_t pid; /* as we know it */
	int root_fd;  /* -1: it was not found yet */
	uint32_t own_pid;
	uid_t user;
};

/*
 * Opens the map of a process, which is found first if it was not yet. May wait for as long as a
 * file system lets it wait. The caller owns process->root_fd and ret->fd; with a root_fd that is
 * still -1 it is of no use to try again.
 */
void map_open(struct map_process *process, struct image_file *ret);
