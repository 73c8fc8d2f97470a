/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>

#include "perfdata-source/group-values.h"

void group_values_init(struct group_values *values)
{
	*values = (struct group_values){ 0 };
	pair_map_init(&values->last, GROUP_VALUES_MAX);
}

void group_values_deinit(struct group_values *values)
{
	pair_map_deinit(&values->last);
}

int group_values_take(struct group_values *values, const struct event *sampled, uint32_t tid,
		      uint64_t id, uint64_t value, uint64_t *ret)
{
	/* Each thread that inherits an event has its own counter. */
	uint64_t thread = sampled->is_inherited ? tid : 0;
	uint64_t *last = pair_map_find(&values->last, id, thread);
	int r = 0;

	*ret = value;
	if (last && value >= *last) {
		*ret = value - *last;
		*last = value;
	} else if (last) {
		*ret = 0;
		values->n_refused++;
	} else {
		r = pair_map_add(&values->last, id, thread, value);
	}
	if (r != -ENOSPC)
		return r;
	*ret = 0;
	values->n_refused++;
	return 0;
}
