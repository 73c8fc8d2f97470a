/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors of images, from the image server that `hello` names, by number: whoever asks needs
 * no file system, no /proc and no privilege. Where no server answers (a recorded stream), the
 * recorded path is opened, if its size and time of change are still those that were recorded.
 */
#pragma once

#include "common/wire.h"

struct image_client {
	int fd; /* -1: no server */
	uint64_t token_high, token_low;
};

/* Connects; without a server that is no error. 0 or -errno. */
int image_client_init(struct image_client *client, const struct wire_hello *hello);
void image_client_deinit(struct image_client *client);

/*
 * Asks for an image: its state, and with WIRE_image_status_OPEN a read-only descriptor that the
 * caller owns. -ENOTCONN: there is no server (any more).
 */
int image_client_open(struct image_client *client, uint64_t image, struct wire_image_state *ret,
		      int *ret_fd);

/*
 * Opens the recorded path instead. `state` is what the image server once found: 0 and a
 * descriptor, or -ESTALE: the file is another one now, or -errno.
 */
int image_open_recorded(const char *path, const struct wire_image_state *state, int *ret_fd);
