/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <sys/stat.h>

#include "common/file/file-state.h"
#include "common/image-server/image-descriptor.h"
#include "common/stream/file-identity.h"
#include "common/stream/jitdump-path.h"

enum { COPY_SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };

static bool find_regular(int fd, struct stat *ret)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & (O_ACCMODE | O_PATH)) == O_RDONLY && fstat(fd, ret) == 0 &&
	       S_ISREG(ret->st_mode);
}

bool image_descriptor_is_readable(int fd)
{
	struct stat status;

	return find_regular(fd, &status);
}

/* Only memory files have seals; fcntl(2) fails on others. */
static bool is_copy(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);

	return seals >= 0 && (seals & COPY_SEALS) == COPY_SEALS;
}

static bool is_as_reported(const struct stat *status, const struct wire_image_state *state)
{
	const struct file_state reported = {
		.size = state->size,
		.modified = state->modified,
		.changed = state->changed,
	};
	const struct file_state now = file_state_of(status);

	return !file_state_may_differ(&reported, &now);
}

/* A jitdump grows all the time, so its inode alone decides. */
bool image_descriptor_is_of(int fd, const struct wire_image *image,
			    const struct wire_image_state *state)
{
	struct stat status;

	if (!find_regular(fd, &status))
		return false;
	if (is_copy(fd))
		return (uint64_t)status.st_size == state->size;
	return file_identity_is(fd, &status, image->device_major, image->device_minor,
				image->inode) &&
	       (jitdump_path_is(image->path.data) || is_as_reported(&status, state));
}
