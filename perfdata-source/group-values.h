/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * In a group ({a,b}:S) only the leader is sampled, but each sample has the counts of all members so
 * far. It becomes a sample of each member that has counted since the previous one, weighted by the
 * difference (tools/perf/util/session.c, deliver_sample_group).
 */
#pragma once

#include "common/base/pair-map.h"
#include "perfdata-source/events.h"

enum { GROUP_VALUES_MAX = 1 << 20 }; /* members, per CPU or thread; 64 MiB */

struct group_values {
	struct pair_map last; /* (id, thread) → value */
	uint64_t n_refused;   /* beyond the limit, or decreasing */
};

void group_values_init(struct group_values *values);
void group_values_deinit(struct group_values *values);

/*
 * Returns in `ret` what member `id` has counted since the last sample with it. `sampled` is the
 * event of the sample, `tid` its thread. 0 or -ENOMEM.
 */
int group_values_take(struct group_values *values, const struct event *sampled, uint32_t tid,
		      uint64_t id, uint64_t value, uint64_t *ret);
