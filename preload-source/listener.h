/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where programs that are to be traced come in: an abstract AF_UNIX socket, whose address and token
 * are in their environment. A peer that does not say hello soon, or without the token, is turned
 * away.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "preload-source/shared/heap-ring.h"

enum {
	LISTENER_PENDING_MAX = 64, /* that have not said hello yet */
	LISTENER_HELLO_NS = 1000000000,
	LISTENER_ENVIRONMENT_SIZE = 160,
};

struct listener {
	int fd;
	char address[100]; /* without the zero byte in front of it */
	uint64_t token[2];
	struct listener_pending {
		int fd;
		uint64_t came_at; /* of CLOCK_MONOTONIC */
	} pending[LISTENER_PENDING_MAX];
	size_t n_pending;
	uint64_t n_refused;
};

/* Somebody with the token, who waits for an answer. */
struct listener_client {
	int fd;		       /* to be answered and closed */
	uint32_t pid, own_pid; /* for us; for itself */
	enum heap_purpose purpose;
};

/* 0 or -errno */
int listener_open(struct listener *listener);
void listener_close(struct listener *listener);

/* What is to be in a program's environment. */
void listener_environment(const struct listener *listener,
			  char ret[static LISTENER_ENVIRONMENT_SIZE]);

/* Lets everybody in who waits outside. */
void listener_accept(struct listener *listener);

/* The next guest who has said hello; false: there is none for now. */
bool listener_next(struct listener *listener, struct listener_client *ret);

/* Answers, with the descriptors if it is welcome, and closes. 0 or -errno. */
int listener_answer(struct listener_client *client, const struct heap_welcome *welcome,
		    const int fds[3]);
