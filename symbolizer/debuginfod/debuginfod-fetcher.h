/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Downloads debug files in the background by a process of its own (debuginfod-process.h), the most
 * requested first. The stage never waits for it. Downloads are in the cache of debuginfod-cache.h,
 * and must be trusted only if their build-id matches.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire/wire.h"
#include "symbolizer/debuginfod/debuginfod-message.h"

enum {
	DEBUGINFOD_KNOWN_MAX = 4096,  /* build-ids, including finished ones */
	DEBUGINFOD_IN_FLIGHT_MAX = 8, /* at the process; the others are queued by priority */
};

struct debuginfod_build_id {
	size_t size;
	uint8_t bytes[WIRE_BUILD_ID_MAX];
};

struct debuginfod_fetcher {
	pid_t pid;
	int fd;				 /* -1: the process has exited */
	struct debuginfod_wanted *known; /* in the order of their first requests */
	struct debuginfod_wanted *in_flight[DEBUGINFOD_IN_FLIGHT_MAX]; /* by request number */
	size_t n_in_flight, n_queued, n_finished;
	uint64_t n_refused; /* requests while DEBUGINFOD_KNOWN_MAX were unfinished */
};

/* Starts the process, which uses servers `urls`, before the stage is sandboxed. 0 or -errno. */
int debuginfod_fetcher_start(struct debuginfod_fetcher *ret, const char *urls);

/* Lets the process exit, without waiting for it. */
void debuginfod_fetcher_stop(struct debuginfod_fetcher *fetcher);

/*
 * Requests a debug file; call it each time that the file would be of use: that is its priority. 0,
 * even for a finished one, or -errno: -ENOSPC: too many wait; -ENOTCONN: the process has exited.
 */
int debuginfod_fetcher_ask(struct debuginfod_fetcher *fetcher, const void *build_id, size_t size);

/*
 * Reports each finished build-id once: an enum debuginfod_outcome; 0: nothing new. A negative errno
 * reports once that the process has exited, and why (debuginfod_fetcher_explain()); the next calls
 * report unfinished requests as failed.
 */
int debuginfod_fetcher_poll(struct debuginfod_fetcher *fetcher, struct debuginfod_build_id *ret);

/* Message for users: why the process has exited. */
const char *debuginfod_fetcher_explain(int error);

/* Name for counters, like "not-found". */
const char *debuginfod_outcome_name(enum debuginfod_outcome outcome);
