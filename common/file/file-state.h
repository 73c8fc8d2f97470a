/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Detects, without reading a file, that its content may have changed. All comparisons are here.
 *
 * Any writer can restore an mtime (utimensat(2): cp -p, rsync -t, reproducible builds); the kernel
 * alone sets the ctime. A new mode, owner or link changes it, too, which costs one more look at the
 * same content. Only the loss of the last name is no change: many programs and libraries are
 * deleted as soon as they run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_state {
	uint64_t size;
	uint64_t modified; /* mtime, nanoseconds since 1970 */
	uint64_t changed;  /* ctime; 0: unknown, in a stream before 1.9 */
	bool is_nameless;  /* it had no name left */
};

struct file_state file_state_of(const struct stat *status);

/* Whether a file that was as `before` may have another content as `now`. */
bool file_state_may_differ(const struct file_state *before, const struct file_state *now);

/*
 * Returns when a file was last written, or later (nanoseconds since 1970): its ctime. Its mtime if
 * the ctime is unknown, or is that of the last name's loss and later.
 */
uint64_t file_state_written(const struct file_state *state);
