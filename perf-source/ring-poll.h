/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Decides when to look at the rings again. Output wakes all later stages, with cold caches, so it
 * is made seldom, unless there is news of processes or files, some of which are short-lived.
 * Looking for news is cheap, as no other stage wakes up.
 */
#pragma once

#include <poll.h>

#include "perf-source/perf/event-set.h"
#include "perf-source/perf/merge.h"

enum { RING_POLL_HELPERS = 8 };

struct ring_poll {
	/* Borrowed; filled in before ring_poll_init(). */
	const struct event_set *event_set;
	struct merge *merge;
	int (*is_news)(const struct perf_event_header *header, void *arg); /* of a record */
	void (*at_sideband)(void *arg); /* there may be new side-band, which is not taken yet */
	void *arg;

	struct pollfd *fds; /* rings, the recorded processes, the image server, helpers */
	uint64_t *seen;	    /* by side-band ring: up to where this wait has looked for news */
	size_t n_sideband, n_rings, n_processes, n;
	bool looks_often;    /* `at_sideband` must not miss side-band for long: set by the caller */
	bool is_busy;	     /* contexts are looked for, so waits are short: set by the caller */
	uint64_t hung_up_at; /* when the first side-band ring did; 0: not yet */
};

/* `process_fds` are pidfds. 0 or -ENOMEM. */
int ring_poll_init(struct ring_poll *polled, const int *process_fds, size_t n_processes,
		   int server_fd);
void ring_poll_deinit(struct ring_poll *polled);

/* Sets the i-th helper whose end, a readable descriptor, is worth a look; -1: there is none. */
void ring_poll_set_helper(struct ring_poll *polled, size_t i, int fd);

/* Waits until the rings are worth a look. True: a process is left, or none was given. */
bool ring_poll_wait(struct ring_poll *polled);
