/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/file/file-state.h"
#include "common/base/clock.h"

struct file_state file_state_of(const struct stat *status)
{
	return (struct file_state){
		.size = status->st_size,
		.modified = clock_nanoseconds(status->st_mtim),
		.changed = clock_nanoseconds(status->st_ctim),
		.is_nameless = !status->st_nlink,
	};
}

bool file_state_may_differ(const struct file_state *before, const struct file_state *now)
{
	if (before->size != now->size || before->modified != now->modified)
		return true;
	if (!before->changed || before->changed == now->changed)
		return false;
	return before->is_nameless || !now->is_nameless;
}

uint64_t file_state_written(const struct file_state *state)
{
	bool is_by_mtime =
		!state->changed || (state->is_nameless && state->modified < state->changed);

	return is_by_mtime ? state->modified : state->changed;
}
