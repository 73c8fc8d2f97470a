/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Of a group ({a,b}:S) only its leader is sampled, but each sample tells what all members have
 * counted so far: it is a sample of those that have counted since the one before, and weighs as
 * much as that (tools/perf/util/session.c, deliver_sample_group).
 */
#pragma once

#include "common/base/pair-map.h"
#include "perfdata-source/events.h"

enum { GROUP_VALUES_MAX = 1 << 20 }; /* members on each CPU or of each thread; 64 MiB */

struct group_values {
	struct pair_map last; /* (id, thread) → value */
	uint64_t n_refused;   /* beyond the limit, or less than before */
};

void group_values_init(struct group_values *values);
void group_values_deinit(struct group_values *values);

/*
 * What the member of that id has counted since the last sample with it, 0: nothing. `sampled` is
 * whose sample it is, of thread `tid`. 0 or -ENOMEM.
 */
int group_values_take(struct group_values *values, const struct event *sampled, uint32_t tid,
		      uint64_t id, uint64_t value, uint64_t *ret);
