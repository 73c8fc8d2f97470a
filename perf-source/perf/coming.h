/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Process changes (fork, exec, exit) that still wait in the side-band rings: for these PIDs /proc
 * is ahead of the stream. Each record is counted once, so that a query does not scan whole rings.
 */
#pragma once

#include "perf-source/perf/merge.h"

enum { COMING_PIDS_MAX = 4 << 20 }; /* PID_MAX_LIMIT of Linux: PIDs are below it */

struct coming {
	struct merge *merge; /* borrowed; its first n_rings rings are side-band */
	size_t n_rings;
	uint64_t *looked_at; /* by ring: position up to which records were counted */
	uint32_t *n_changes; /* pending, by PID; untouched pages take no memory */
};

/* 0 or -ENOMEM. */
int coming_init(struct coming *coming, struct merge *merge, size_t n_rings);
void coming_deinit(struct coming *coming);

/* Whether a record not yet taken begins another incarnation of a PID. */
bool coming_changes(struct coming *coming, uint32_t pid);

/* To be called for each side-band record that is taken. */
void coming_take(struct coming *coming, const struct merge_record *record);
