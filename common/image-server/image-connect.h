/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Connects to the image server that a stream names. Any process can take the server's name after
 * its exit, so the peer must be root or the stage's own user, and prove that it has the key
 * (image-proof.h). Nothing is trusted before, and every wait is limited.
 */
#pragma once

#include "common/wire/wire.h"

enum { IMAGE_CONNECT_PATIENCE_MS = 2000 }; /* for connecting and the proof together */

/*
 * A connected socket that the caller owns. -ECONNREFUSED: no listener at that name; -EPERM: the
 * listener is not the server; -ETIMEDOUT; -errno.
 */
int image_connect(const struct wire_hello *hello);
