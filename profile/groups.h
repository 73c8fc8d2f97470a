/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Groups of samples that have thread, event, stack, flags, context and (for waits) waker in common.
 */
#pragma once

#include "profile/profile.h"

struct profile_group {
	uint32_t thread, node;
	size_t first, n; /* in `order` */
};

struct profile_groups {
	uint32_t *order; /* indices of samples, by group, then time */
	struct profile_group *list;
	size_t n;
};

/* 0 or -ENOMEM */
int profile_groups_init(struct profile_groups *groups, const struct profile *profile);
void profile_groups_deinit(struct profile_groups *groups);

/* The first sample of a group: the others differ from it only in time, count and weight. */
static inline const struct profile_sample *profile_group_sample(const struct profile_groups *groups,
								const struct profile *profile,
								const struct profile_group *group)
{
	return &profile->samples[groups->order[group->first]];
}

/* The sum of a group's samples in a view. */
uint64_t profile_group_amount(const struct profile_groups *groups, const struct profile *profile,
			      const struct profile_group *group, struct view view);
