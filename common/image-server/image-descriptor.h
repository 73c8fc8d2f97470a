/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a descriptor that came from the image server is what the stream tells of: a regular file
 * that is open to be read, that file, as it was opened. A file whose file system may never answer
 * comes as a copy, which nobody can change any more (memfd_create(2), file seals).
 */
#pragma once

#include <stdbool.h>

#include "common/wire/wire.h"

/* A regular file that is open to be read, and nothing else. */
bool image_descriptor_is_readable(int fd);

/* That, of `image`, and as the state that came along; or a copy of as many bytes. */
bool image_descriptor_is_of(int fd, const struct wire_image *image,
			    const struct wire_image_state *state);
