/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/counters.h"
#include "common/base/growing-list.h"
#include "common/base/hash-table.h"

enum { KEY_MAX = 64 + 4096 + 2 };

struct counter_entry {
	struct counter counter; /* first member: `list` points to it */
	UT_hash_handle hh;
	char key[]; /* "group\nname" */
};

void counters_deinit(struct counters *counters)
{
	HASH_CLEAR(hh, counters->by_name);
	for (size_t i = 0; i < counters->n; i++)
		free(counters->list[i]);
	free(counters->list);
	*counters = (struct counters){ 0 };
}

static struct counter *add(struct counters *counters, const char *group, const char *key)
{
	struct counter_entry *entry;

	if (GROWING_LIST_MAKE_ROOM(counters->list, counters->n) < 0)
		return NULL;
	entry = calloc(1, sizeof(*entry) + strlen(key) + 1);
	if (!entry)
		return NULL;
	strcpy(entry->key, key);
	entry->counter.group = group;
	entry->counter.name = entry->key + strlen(group) + 1;
	HASH_ADD_STR(counters->by_name, key, entry);
	if (!HASH_HAS(hh, entry)) {
		free(entry);
		return NULL;
	}
	counters->list[counters->n++] = &entry->counter;
	return &entry->counter;
}

uint64_t *counters_get(struct counters *counters, const char *group, const char *name)
{
	struct counter_entry *entry;
	struct counter *counter;
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s\n%s", group, name);
	HASH_FIND_STR(counters->by_name, key, entry);
	if (entry)
		return &entry->counter.value;
	if (counters->n == COUNTERS_MAX)
		return &counters->list[COUNTERS_MAX - 1]->value;
	if (counters->n == COUNTERS_MAX - 1)
		counter = add(counters, "refused", "refused\nfurther-counts");
	else
		counter = add(counters, group, key);
	return counter ? &counter->value : &counters->without_memory.value;
}
