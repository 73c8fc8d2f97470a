/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When to look at the rings again. Each time that we hand something over, all later stages wake up
 * with cold caches: so it is done seldom, unless there is news of processes or files, some of which
 * do not live long. To look for news is cheap, as nobody else wakes up.
 */
#pragma once

#include <poll.h>

#include "perf-source/perf-source.h"

struct waiting {
	struct pollfd *fds; /* rings, ends of the recorded processes, the image server */
	uint64_t *seen;	    /* of the rings of side-band: how far this wait has looked for news */
	size_t n_sideband, n_rings, n_processes, n;
};

int waiting_init(struct waiting *waiting, const struct perf_source *self);
void waiting_deinit(struct waiting *waiting);

/*
 * Waits until the rings are worth a look; returns whether a process to be recorded is left (without
 * such, always).
 */
bool waiting_wait(struct waiting *waiting, struct perf_source *self);
