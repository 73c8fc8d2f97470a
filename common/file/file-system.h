/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the file system of a file is known to answer. Reading a file, closing it, and even asking
 * for its size may wait for ever where somebody else answers: a process of any user (FUSE), or a
 * network. Whoever waits cannot be interrupted then, nor always be killed.
 *
 * Known to answer is what this machine keeps itself, by the type that statfs(2) tells, and
 * overlayfs, which is as good as what lies below it, if it is mounted in our own mount namespace:
 * there only whoever administers the machine (or our container) can mount it, while any user can
 * put it over FUSE in a namespace of his own. Whatever is not known is taken not to answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

enum { OWN_OVERLAYS_MAX = 4096 }; /* further ones are not known */

/* Devices of the overlays that are mounted in our own mount namespace. */
struct own_overlays {
	dev_t *list;
	size_t n;
};

/* As they are now, by /proc/self/mountinfo (proc(5)); what cannot be read has none. */
void own_overlays_read(struct own_overlays *ret);
void own_overlays_deinit(struct own_overlays *overlays);

/*
 * `fd` may be an O_PATH descriptor, `status` is its. May itself wait for as long as the file system
 * lets it wait: where that may be for ever, it is for a thread that can be given up. `overlays` is
 * NULL where they are to be read if they are needed.
 */
bool file_system_answers(int fd, const struct stat *status, const struct own_overlays *overlays);
