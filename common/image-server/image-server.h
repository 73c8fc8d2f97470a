/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The image server: a child of perf-source that opens each image as soon as it is first mapped
 * and hands descriptors to whoever knows the token; likewise what JIT compilers tell of their code
 * (common/image-server/map-opener.h). It outlives perf-source's `end` until the last client has
 * gone.
 *
 * One thread serves the sockets and never waits for a file; a few others open files, and one that
 * a file system keeps waiting is given up and replaced.
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

/* What the server counts, in memory that it shares with whoever has started it. */
enum image_server_count {
	IMAGE_SERVER_TURNED_AWAY, /* there were IMAGE_SERVER_CLIENTS_MAX clients already */
	IMAGE_SERVER_CROWDED_OUT, /* strangers who made room for others */
	IMAGE_SERVER_SILENT,	  /* strangers who said nothing */
	IMAGE_SERVER_WITHOUT_KEY, /* strangers who said something else */
	N_IMAGE_SERVER_COUNTS,
};

struct image_server {
	pid_t pid;
	int fd;	    /* requests to open images, and what became of them */
	int end_fd; /* the same socket: whether the server still needs us */
	char address[104];
	uint64_t token_high, token_low;
	uint64_t *counts; /* N_IMAGE_SERVER_COUNTS; NULL: not started */
};

/* Starts the server; the caller owns ret->fd. 0 or -errno. */
int image_server_start(struct image_server *ret);

/*
 * Nothing more comes from the caller: waits until all clients have gone that have come, or until
 * `gives_up` says so. The server stays for the grace, for whoever is late.
 */
void image_server_wait(struct image_server *server, bool (*gives_up)(void));

/* Adds what it has counted so far, for whoever has started it: the group "image-server". */
void image_server_count(const struct image_server *server, struct counters *counters);
