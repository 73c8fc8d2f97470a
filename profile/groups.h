/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The samples of a profile that a thread has of the same event with the same stack, put together;
 * of waits those that the same thread has ended.
 */
#pragma once

#include "profile/profile.h"

struct profile_group {
	uint32_t thread, node;
	size_t first, n; /* of `order` */
};

struct profile_groups {
	uint32_t *order; /* indices of samples, by group and time */
	struct profile_group *list;
	size_t n;
};

/* 0 or -ENOMEM */
int profile_groups_init(struct profile_groups *groups, const struct profile *profile);
void profile_groups_deinit(struct profile_groups *groups);

/* Its first: the others differ from it in time and weight alone. */
static inline const struct profile_sample *profile_group_sample(const struct profile_groups *groups,
								const struct profile *profile,
								const struct profile_group *group)
{
	return &profile->samples[groups->order[group->first]];
}

/* What those of a group are in a view, together. */
uint64_t profile_group_amount(const struct profile_groups *groups, const struct profile *profile,
			      const struct profile_group *group, struct view view);
