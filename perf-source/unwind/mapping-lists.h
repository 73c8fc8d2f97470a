/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the kernel's walk finds the mappings of processes: a list for each, in one shared array. A
 * list is written before the kernel is told of it. Its place is not used again soon, since a walk
 * may still be reading it: what that finds then leads to other words of the stack, or to none, and
 * live-unwinder, which walks by what it knows itself, ends the stack there.
 */
#pragma once

#include "common/base/pair-map.h"
#include "perf-source/bpf/unwind-program.h"

enum { MAPPING_LISTS_CLASSES = 10, MAPPING_LISTS_LEAST = 8 };

/* Free places of one size, oldest first. */
struct mapping_places {
	uint32_t *list;
	size_t first, n, n_allocated;
};

struct mapping_lists {
	struct unwind_program *program; /* borrowed */
	struct pair_map by_pid;		/* (pid, 0) → its place */
	struct mapping_places free[MAPPING_LISTS_CLASSES];
	uint32_t used;	    /* mappings, from the begin on */
	uint64_t n_numbers; /* of lists so far */
	uint64_t n_refused; /* lists without room */
};

void mapping_lists_init(struct mapping_lists *lists, struct unwind_program *program);
void mapping_lists_deinit(struct mapping_lists *lists);

bool mapping_lists_have(const struct mapping_lists *lists, uint32_t pid);

/* Sets the list of a process; without room it has none. 0 or -ENOMEM. */
int mapping_lists_set(struct mapping_lists *lists, uint32_t pid,
		      const struct unwind_mapping *mappings, size_t n);

/* Gives a process the mappings that another one has, if it has no list. */
void mapping_lists_share(struct mapping_lists *lists, uint32_t from, uint32_t pid);

void mapping_lists_remove(struct mapping_lists *lists, uint32_t pid);

/* Removes the list of a process if it has a mapping in a range, where there is another one now. */
void mapping_lists_cover(struct mapping_lists *lists, uint32_t pid, uint64_t start, uint64_t end);
