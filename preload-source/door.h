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
	DOOR_GUESTS_MAX = 64, /* that have not said hello yet */
	DOOR_HELLO_NS = 1000000000,
	DOOR_ENVIRONMENT_SIZE = 160,
};

struct door {
	int fd;
	char address[100]; /* without the zero byte in front of it */
	uint64_t token[2];
	struct door_guest {
		int fd;
		uint64_t came_at; /* of CLOCK_MONOTONIC */
	} guests[DOOR_GUESTS_MAX];
	size_t n_guests;
	uint64_t n_refused;
};

/* Somebody with the token, who waits for an answer. */
struct door_visitor {
	int fd;		       /* to be answered and closed */
	uint32_t pid, own_pid; /* for us; for itself */
	enum heap_purpose purpose;
};

/* 0 or -errno */
int door_open(struct door *door);
void door_close(struct door *door);

/* What is to be in a program's environment. */
void door_environment(const struct door *door, char ret[static DOOR_ENVIRONMENT_SIZE]);

/* Lets everybody in who waits outside. */
void door_let_in(struct door *door);

/* The next guest who has said hello; false: there is none for now. */
bool door_next(struct door *door, struct door_visitor *ret);

/* Answers, with the descriptors if it is welcome, and closes. 0 or -errno. */
int door_answer(struct door_visitor *visitor, const struct heap_welcome *welcome, const int fds[3]);
