/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The socket to which traced programs connect: an abstract AF_UNIX socket, whose address and token
 * are in their environment. Peers whose hello is late, or has no valid token, are refused.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload-source/shared/heap-ring.h"

enum {
	LISTENER_PENDING_MAX = 64, /* connections without a hello so far */
	LISTENER_HELLO_NS = 1000000000,
	LISTENER_ENVIRONMENT_SIZE = 160,
};

struct listener {
	int fd;
	char address[100]; /* without the leading zero byte */
	uint64_t token[2];
	struct listener_pending {
		int fd;
		uint64_t came_at; /* in CLOCK_MONOTONIC */
	} pending[LISTENER_PENDING_MAX];
	size_t n_pending;
	uint64_t n_refused;
};

/* A program that has sent a valid hello. */
struct listener_client {
	int fd;		       /* closed by listener_answer(), or by the caller */
	uint32_t pid, own_pid; /* in our PID namespace; in its own */
	enum heap_purpose purpose;
};

/* 0 or -errno */
int listener_open(struct listener *listener);
void listener_close(struct listener *listener);

/* The environment variable of traced programs, as NAME=VALUE. */
void listener_environment(const struct listener *listener,
			  char ret[static LISTENER_ENVIRONMENT_SIZE]);

/* Accepts all connections that there is room for, and closes those whose hello is late. */
void listener_accept(struct listener *listener);

/* The next program that has sent a hello; false: none for now. */
bool listener_next(struct listener *listener, struct listener_client *ret);

/* Sends the answer, with the descriptors if it is HEAP_WELCOME, and closes. 0 or -errno. */
int listener_answer(struct listener_client *client, const struct heap_welcome *welcome,
		    const int fds[3]);
