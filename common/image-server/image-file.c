/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/image-server/image-file.h"

bool image_file_has_changed(struct image_file *file)
{
	struct file_state now;
	struct stat status;

	if (fstatat(image_file_watched(file), "", &status, AT_EMPTY_PATH | AT_STATX_DONT_SYNC) < 0)
		return false;
	now = file_state_of(&status);
	if (file_state_may_differ(&file->state, &now))
		return true;
	file->state = now;
	return false;
}

void image_file_close(struct image_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->original) {
		close(file->original);
		copy_shares_give_back(file->shares, file->user, file->state.size);
	}
	file->fd = -1;
	file->original = 0;
}

void image_file_copy(struct image_file *file, struct copy_shares *shares, uid_t user)
{
	_cleanup_fd_ int original = take_fd(&file->fd);
	struct stat status;

	file->is_path = false;
	file->status = WIRE_image_status_GONE;
	if (fstat(original, &status) < 0)
		return;
	file->state = file_state_of(&status);
	if (!copy_shares_take(shares, user, file->state.size, clock_now(CLOCK_MONOTONIC))) {
		file->status = WIRE_image_status_REFUSED;
		return;
	}
	if (file_copy(original, &status, &file->fd) < 0) {
		copy_shares_give_back(shares, user, file->state.size);
		return;
	}
	file->status = WIRE_image_status_OPEN;
	file->original = take_fd(&original);
	file->shares = shares;
	file->user = user;
}
