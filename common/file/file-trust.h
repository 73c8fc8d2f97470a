/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether to trust a file that was found by path, by who may have written it: only root, ourselves,
 * and those who could also have written the file that refers to it. An equal id of both files
 * proves nothing, as it can be copied.
 *
 * The opened file is checked (fstat(2)), not its path: links and directories of other users lead to
 * no trusted file that they could write. Files below directories that the user names are trusted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Who can write to a file, besides root. */
struct file_writers {
	uid_t user; /* its owner, who can make it writable */
	gid_t group;
	bool any_of_group;
	bool anybody;
};

struct file_writers file_writers_of(const struct stat *status);

/*
 * Whether a file's only writers are root, ourselves (our group, too, if the file is ours, for
 * umasks that allow it) and `asker`, the writers of the file that refers to it (NULL: none).
 */
bool file_is_trusted(const struct stat *status, const struct file_writers *asker);

/* Files that a stage trusts without a check, and those that it refused. */
struct file_trust {
	const char *const *vouched; /* directories that the user named; borrowed */
	size_t n_vouched;
	uint64_t n_refused;
	char *first_refused; /* path; owned; NULL: none, or no memory */
};

/*
 * Whether the file that was opened at `path` is trusted; counts it if not. Without a `trust`, no
 * directory is vouched for and nothing is counted.
 */
bool file_trust_accepts(struct file_trust *trust, const char *path, const struct stat *status,
			const struct file_writers *asker);
void file_trust_deinit(struct file_trust *trust);
