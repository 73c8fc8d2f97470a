/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The way to the image server that a stream names. Its name is nobody's once it has gone, and then
 * anybody's: whoever has it must be root or the stage's own user, and show that it knows the key
 * (common/image-server/image-proof.h). Nothing is believed before that, and nothing is waited for
 * without end.
 */
#pragma once

#include "common/wire/wire.h"

enum { IMAGE_CONNECT_PATIENCE_MS = 2000 }; /* with all of it */

/*
 * A connected socket that the caller owns. -ECONNREFUSED: nobody has that name; -EPERM: whoever has
 * it is not the server; -ETIMEDOUT; -errno.
 */
int image_connect(const struct wire_hello *hello);
