/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "common/counters.h"

void counters_deinit(struct counters *counters)
{
	for (size_t i = 0; i < counters->n; i++) {
		free(counters->list[i]->name);
		free(counters->list[i]);
	}
	free(counters->list);
	*counters = (struct counters){ 0 };
}

static struct counter *find(const struct counters *counters, const char *group, const char *name)
{
	for (size_t i = 0; i < counters->n; i++)
		if (!strcmp(counters->list[i]->group, group) &&
		    !strcmp(counters->list[i]->name, name))
			return counters->list[i];
	return NULL;
}

static struct counter *add(struct counters *counters, const char *group, const char *name)
{
	struct counter **list = reallocarray(counters->list, counters->n + 1, sizeof(*list));
	struct counter *counter = calloc(1, sizeof(*counter));

	if (list)
		counters->list = list;
	if (counter)
		counter->name = strdup(name);
	if (!list || !counter || !counter->name) {
		free(counter ? counter->name : NULL);
		free(counter);
		return NULL;
	}
	counter->group = group;
	counters->list[counters->n++] = counter;
	return counter;
}

uint64_t *counters_get(struct counters *counters, const char *group, const char *name)
{
	struct counter *counter = find(counters, group, name);

	if (!counter && counters->n < COUNTERS_MAX)
		counter = add(counters, group, name);
	return counter ? &counter->value : &counters->other.value;
}

uint64_t counters_sum(const struct counters *counters, const char *group)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < counters->n; i++)
		if (!strcmp(counters->list[i]->group, group))
			sum += counters->list[i]->value;
	return sum;
}
