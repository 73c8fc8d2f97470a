/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image server's one message: the state of an image, with a descriptor if it is open. */
#pragma once

#include "common/wire/wire.h"

/*
 * Beside the number of an image of a file that may hold code of a JIT compiler (jit-memory.h): the
 * perf map of the process that mapped it first.
 */
#define IMAGE_MESSAGE_MAP_OF (1ULL << 63)

/* Likewise: the debug file of an image, where the process that mapped it first would have it. */
#define IMAGE_MESSAGE_DEBUG_OF (1ULL << 62)

/* A record to the server: `flags` as of sendmsg(2). 0 or -errno. */
int image_message_ask(int socket, const void *record, size_t size, int flags);

/* Never waits. 0 or -errno; `fd` -1: none goes along. */
int image_message_send(int socket, const struct wire_image_state *state, int fd);

/*
 * `flags` as of recvmsg(2). 0 and a descriptor that the caller owns, or -1; -ENOTCONN: the other
 * end has gone; -EBADMSG: not such a message; -errno.
 */
int image_message_receive(int socket, int flags, struct wire_image_state *ret, int *ret_fd);
