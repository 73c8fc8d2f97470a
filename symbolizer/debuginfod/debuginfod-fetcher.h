/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Debug files that a stage lacks, downloaded in the background by a process of its own
 * (debuginfod-process.h): what was asked for most often first. The stage never waits for anything
 * here. What has arrived lies in the cache of debuginfod-cache.h, and is to be believed only if it
 * has the build-id that was asked for.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/wire/wire.h"
#include "symbolizer/debuginfod/debuginfod-message.h"

enum {
	DEBUGINFOD_KNOWN_MAX = 4096,  /* build-ids, those with an outcome among them */
	DEBUGINFOD_IN_FLIGHT_MAX = 8, /* at the process; what waits behind them is in order */
};

struct debuginfod_build_id {
	size_t size;
	uint8_t bytes[WIRE_BUILD_ID_MAX];
};

struct debuginfod_fetcher {
	pid_t pid;
	int fd;				 /* -1: there is no process any more */
	struct debuginfod_wanted *known; /* in the order in which they were first asked for */
	struct debuginfod_wanted *in_flight[DEBUGINFOD_IN_FLIGHT_MAX]; /* by number of request */
	size_t n_in_flight, n_queued, n_finished;
	uint64_t n_refused; /* asked for while DEBUGINFOD_KNOWN_MAX were waiting */
};

/*
 * Starts the process, which asks these servers; to be called before the stage confines itself. 0
 * or -errno.
 */
int debuginfod_fetcher_start(struct debuginfod_fetcher *ret, const char *urls);

/* Lets the process end, and does not wait for that. */
void debuginfod_fetcher_stop(struct debuginfod_fetcher *fetcher);

/*
 * Asks for a debug file, as often as it would be of use: that is its priority. 0, also where it
 * has an outcome already, or -errno: -ENOSPC: too many wait; -ENOTCONN: the process has gone.
 */
int debuginfod_fetcher_ask(struct debuginfod_fetcher *fetcher, const void *build_id, size_t size);

/*
 * Tells what has come of a build-id, each once: an enum debuginfod_outcome; 0: nothing new is
 * known. A negative errno tells, once, that the process has gone, and why
 * (debuginfod_fetcher_explain()); what was asked for has failed then, which the next calls tell.
 */
int debuginfod_fetcher_poll(struct debuginfod_fetcher *fetcher, struct debuginfod_build_id *ret);

/* For people: why there is no process any more. */
const char *debuginfod_fetcher_explain(int error);

/* For counters, like "not-found". */
const char *debuginfod_outcome_name(enum debuginfod_outcome outcome);
