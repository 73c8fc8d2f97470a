/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image server's only message: the state of an image, with a descriptor if it is open. */
#pragma once

#include "common/wire/wire.h"

/*
 * With the number of an image whose file may hold JIT code (jit-memory.h): the perf map of the
 * process that first mapped it.
 */
#define IMAGE_MESSAGE_MAP_OF (1ULL << 63)

/* Likewise: the image's debug file, below the root of the process that first mapped it. */
#define IMAGE_MESSAGE_DEBUG_OF (1ULL << 62)

/* Sends a record to the server; `flags` as of sendmsg(2). 0 or -errno. */
int image_message_ask(int socket, const void *record, size_t size, int flags);

/* Never blocks; `fd` -1: no descriptor. 0 or -errno. */
int image_message_send(int socket, const struct wire_image_state *state, int fd);

/*
 * `flags` as of recvmsg(2). 0 and a descriptor that the caller owns, or -1; -ENOTCONN: the peer has
 * closed; -EBADMSG: another message; -errno.
 */
int image_message_receive(int socket, int flags, struct wire_image_state *ret, int *ret_fd);
