/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The image server: a child of perf-source that opens each image as soon as it is first mapped
 * and hands descriptors to whoever knows the token; likewise what JIT compilers tell of their code
 * (common/map-opener.h). It outlives perf-source's `end` until the last client has gone.
 *
 * One thread serves the sockets and never waits for a file; a few others open files, and one that
 * a file system keeps waiting is given up and replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	IMAGE_SERVER_CLIENTS_MAX = 64,
	IMAGE_SERVER_GRACE_MS = 200, /* between the last client and the next */
};

struct image_server {
	pid_t pid;
	int fd; /* requests to open images, and what became of them */
	char address[104];
	uint64_t token_high, token_low;
};

/* Starts the server; the caller owns ret->fd, and closes it to let the server end. 0 or -errno. */
int image_server_start(struct image_server *ret);

/* Waits for its end, or until `gives_up` says so. */
void image_server_wait(const struct image_server *server, bool (*gives_up)(void));
