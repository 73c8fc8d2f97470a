/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether a descriptor from the image server is the file that the stream describes: regular, open
 * for reading, and unchanged since the server opened it. A file whose file system may never answer
 * arrives as a sealed copy, which is immutable (memfd_create(2), file seals).
 */
#pragma once

#include <stdbool.h>

#include "common/wire/wire.h"

/* Whether it is a regular file that is open for reading only. */
bool image_descriptor_is_readable(int fd);

/* The same, and it is `image` in the given state, or a copy of the right size. */
bool image_descriptor_is_of(int fd, const struct wire_image *image,
			    const struct wire_image_state *state);
