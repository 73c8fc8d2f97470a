/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processes become others by records that wait in the rings of side-band: what /proc shows of
 * them is ahead of the stream. It is asked for each process that is met, so each record is looked
 * at once for it, and not the rings each time.
 */
#pragma once

#include "perf-source/perf/merge.h"

enum { COMING_PIDS_MAX = 4 << 20 }; /* PID_MAX_LIMIT: a PID is below that */

struct coming {
	struct merge *merge; /* borrowed; the first of its rings are those of side-band */
	size_t n_rings;
	uint64_t *looked_at; /* of each ring, up to there */
	uint32_t *n_changes; /* by PID; pages that no PID lies in take no memory */
};

/* 0 or -ENOMEM. */
int coming_init(struct coming *coming, struct merge *merge, size_t n_rings);
void coming_deinit(struct coming *coming);

/* Whether a record that was not taken yet makes another incarnation of a PID. */
bool coming_changes(struct coming *coming, uint32_t pid);

/* A record of side-band was taken. */
void coming_take(struct coming *coming, const struct merge_record *record);
