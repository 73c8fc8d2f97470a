/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists of mappings of processes that have just begun, by records that the stream has not reached
 * yet: it is some tens of milliseconds behind, and many processes do not live much longer. The
 * stream makes lists of its own once it is there. A list that is wrong for a moment shortens
 * stacks, at most (mapping-lists.h).
 */
#pragma once

#include "common/source/processes.h"
#include "perf-source/unwind/mapping-lists.h"
#include "perf-source/unwind/table-slots.h"

enum {
	EARLY_LISTS_MAX = 64, /* processes; further ones take the place of the oldest */
	EARLY_MAPPINGS_MAX = 64,
};

struct early_list {
	uint32_t pid; /* 0: free */
	uint32_t n;
	bool is_changed;
	struct unwind_mapping mappings[EARLY_MAPPINGS_MAX]; /* by address */
};

struct early_lists {
	const struct processes *processes; /* borrowed, as are these */
	struct mapping_lists *lists;
	struct table_slots *tables;
	struct early_list list[EARLY_LISTS_MAX];
	size_t next; /* place of the next process */
};

void early_lists_init(struct early_lists *early, const struct processes *processes,
		      struct mapping_lists *lists, struct table_slots *tables);

/* Takes a record of a fork, an exec or a mapping, each once and in the order of its ring. */
void early_lists_take(struct early_lists *early, const struct perf_event_header *record);

/* Tells the kernel the lists that were changed. 0 or -ENOMEM. */
int early_lists_publish(struct early_lists *early);

/* Whether the list of a process is made here. */
bool early_lists_have(struct early_lists *early, uint32_t pid);

/* From now on the stream makes the list of a process. */
void early_lists_give_up(struct early_lists *early, uint32_t pid);
