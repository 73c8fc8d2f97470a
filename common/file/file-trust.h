/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may have written a file that was found by a path: what it says is believed only if it was
 * nobody but root, ourselves, or whoever could as well have written the file that asks for it. An
 * id that both have proves nothing, as anybody can copy it.
 *
 * The file that was opened is judged (fstat(2)), not what led to it: links and directories of
 * others lead to no file that they could write. The directories that a person names are vouched
 * for by him, with all that is in them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Those who can write to a file, besides root. */
struct file_writers {
	uid_t user; /* its owner, who can let himself */
	gid_t group;
	bool any_of_group;
	bool anybody;
};

struct file_writers file_writers_of(const struct stat *status);

/*
 * Whether a file has no other writers than root, ourselves (also by our own group, if the file is
 * ours: our umask lets it) and `asker`, who may be NULL: nobody.
 */
bool file_is_trusted(const struct stat *status, const struct file_writers *asker);

/* What a stage believes, and what it has not. */
struct file_trust {
	const char *const *vouched; /* directories that a person has named; borrowed */
	size_t n_vouched;
	uint64_t n_refused;
	char *first_refused; /* its path; owned; NULL: none, or no memory */
};

/*
 * Whether the file that was opened at `path` is believed; else that is counted. Without a `trust`
 * nothing is vouched for, or counted.
 */
bool file_trust_accepts(struct file_trust *trust, const char *path, const struct stat *status,
			const struct file_writers *asker);
void file_trust_deinit(struct file_trust *trust);
