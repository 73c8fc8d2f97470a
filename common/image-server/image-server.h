/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The image server: a child of perf-source that opens each image as soon as it is first mapped, and
 * gives descriptors to processes that have the token; likewise files in which JIT compilers
 * describe their code (map-opener.h). It outlives perf-source's `end` until the last client
 * disconnects.
 *
 * One thread serves the sockets and never blocks on a file; others open files, and one that a file
 * system blocks is abandoned and replaced.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/base/counters.h"

enum {
	IMAGE_SERVER_CLIENTS_MAX = 64,
	IMAGE_SERVER_GRACE_MS = 200, /* between the last client and the next */
};

/* Counters of the server, in memory shared with its parent. */
enum image_server_count {
	IMAGE_SERVER_TURNED_AWAY, /* no room: IMAGE_SERVER_CLIENTS_MAX connections */
	IMAGE_SERVER_CROWDED_OUT, /* strangers dropped to admit others */
	IMAGE_SERVER_SILENT,	  /* strangers without a proof in time */
	IMAGE_SERVER_WITHOUT_KEY, /* strangers with a wrong proof or another message */
	N_IMAGE_SERVER_COUNTS,
};

struct image_server {
	pid_t pid;
	int fd;	    /* requests to open images, and their results */
	int end_fd; /* duplicate: shows when the server no longer needs the parent */
	char address[104];
	uint64_t token_high, token_low;
	uint64_t *counts; /* N_IMAGE_SERVER_COUNTS; NULL: not started */
};

/* Starts the server; the caller owns ret->fd. 0 or -errno. */
int image_server_start(struct image_server *ret);

/*
 * Announces the end of requests, and waits until all clients that ever connected have disconnected,
 * or until `gives_up` is true. The server stays for the grace period, for late clients.
 */
void image_server_wait(struct image_server *server, bool (*gives_up)(void));

/* Adds the counters, so far, to the group "image-server". */
void image_server_count(const struct image_server *server, struct counters *counters);
