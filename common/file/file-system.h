/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a file's file system is known to answer. Reading a file, closing it and even asking for
 * its size may block forever where a process of any user (FUSE) or a network must answer. A thread
 * that is blocked there cannot be interrupted, nor always killed.
 *
 * Local file systems are known to answer, by their type in statfs(2). So is an overlayfs in our own
 * mount namespace, as far as the file systems below it do: only an administrator of the machine (or
 * of our container) can mount it there, but any user can put one over FUSE in a namespace of his
 * own. An unknown file system is assumed not to answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { OWN_OVERLAYS_MAX = 4096 }; /* further ones count as unknown */

/* Devices of the overlays that are mounted in our own mount namespace. */
struct own_overlays {
	dev_t *list;
	size_t n;
};

/* Reads the present ones from /proc/self/mountinfo (proc(5)); the list is empty on failure. */
void own_overlays_read(struct own_overlays *ret);
void own_overlays_deinit(struct own_overlays *overlays);

/*
 * `fd` may be an O_PATH descriptor; `status` is its state. This call may itself block as long as
 * the file system does: where that may be forever, call it in a thread that can be abandoned. If
 * `overlays` is NULL, they are read when needed.
 */
bool file_system_answers(int fd, const struct stat *status, const struct own_overlays *overlays);
