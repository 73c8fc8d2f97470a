/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "profile/groups.h"

static int compare_groups(const struct profile_sample *left, const struct profile_sample *right)
{
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->node != right->node)
		return left->node < right->node ? -1 : 1;
	if (left->event != right->event)
		return left->event < right->event ? -1 : 1;
	if (left->flags != right->flags)
		return left->flags < right->flags ? -1 : 1;
	if (left->context != right->context)
		return left->context < right->context ? -1 : 1;
	if (left->waker != right->waker)
		return left->waker < right->waker ? -1 : 1;
	return 0;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct profile_sample *samples = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int order = compare_groups(&samples[i], &samples[k]);

	return order ? order : i < k ? -1 : i > k; /* the profile is in order of time */
}

static int make_list(struct profile_groups *groups, const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[groups->order[i]];
		struct profile_group *last = groups->n ? &groups->list[groups->n - 1] : NULL;

		if (!last || compare_groups(sample, profile_group_sample(groups, profile, last))) {
			if (GROWING_LIST_MAKE_ROOM(groups->list, groups->n) < 0)
				return -ENOMEM;
			last = &groups->list[groups->n++];
			*last = (struct profile_group){ sample->thread, sample->node, i, 0 };
		}
		last->n++;
	}
	return 0;
}

int profile_groups_init(struct profile_groups *groups, const struct profile *profile)
{
	*groups = (struct profile_groups){ 0 };
	groups->order = calloc(profile->n_samples + 1, sizeof(*groups->order));
	if (!groups->order)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++)
		groups->order[i] = i;
	qsort_r(groups->order, profile->n_samples, sizeof(*groups->order), compare,
		profile->samples);
	return make_list(groups, profile);
}

void profile_groups_deinit(struct profile_groups *groups)
{
	free(groups->order);
	free(groups->list);
	*groups = (struct profile_groups){ 0 };
}

uint64_t profile_group_amount(const struct profile_groups *groups, const struct profile *profile,
			      const struct profile_group *group, struct view view)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < group->n; i++)
		sum_add(&sum, profile_amount(profile, view,
					     &profile->samples[groups->order[group->first + i]]));
	return sum;
}
