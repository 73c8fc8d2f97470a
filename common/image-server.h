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
	int fd;	    /* requests to open images, and what became of them */
	int end_fd; /* the same socket: whether the server still needs us */
	char address[104];
	uint64_t token_high, token_low;
};

/* Starts the server; the caller owns ret->fd. 0 or -errno. */
int image_server_start(struct image_server *ret);

/*
 * Nothing more comes from the caller: waits until all clients have gone that have come, or until
 * `gives_up` says so. The server stays for the grace, for whoever is late.
 */
void image_server_wait(struct image_server *server, bool (*gives_up)(void));
