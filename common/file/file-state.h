/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tells one content of a file from the next without reading it: whoever compares does it here.
 *
 * Anybody who may write to a file may give it the mtime that it had (utimensat(2): cp -p, rsync -t,
 * reproducible builds); its ctime is the kernel's own. That moves with a new mode, owner or link,
 * too, which costs one more look at the same content. Only the loss of the last name is no change:
 * many programs and libraries are deleted as soon as they run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct file_state {
	uint64_t size;
	uint64_t modified; /* mtime, nanoseconds since 1970 */
	uint64_t changed;  /* ctime; 0: not known, a stream of before 1.9 does not tell it */
	bool is_nameless;  /* it had no name any more */
};

struct file_state file_state_of(const struct stat *status);

/* Whether a file that was as `before` may hold something else now. */
bool file_state_may_differ(const struct file_state *before, const struct file_state *now);

/*
 * When it was written to at last, or later: nanoseconds since 1970. An mtime in the future tells
 * nothing, that of a file without a name all that there is.
 */
uint64_t file_state_written(const struct file_state *state);
