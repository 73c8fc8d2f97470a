/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds processes that publish a context by their maps, where the mapping has a name (OTEP 4719):
 * all of them once, and where nobody reports new ones, young processes several times a second and
 * all of them now and then. Maps are long, so this has a share of the time.
 */
#pragma once

#include "common/source/processes.h"
#include "perf-source/context/context-reader.h"

enum contexts_wanted {
	CONTEXTS_PUBLISHED = 1,
	CONTEXTS_RUNTIMES = 2,
};

struct context_search {
	struct processes *processes;		    /* borrowed */
	bool (*is_wanted)(uint32_t pid, void *arg); /* whether the recording is of a process */
	void *arg;
	uint32_t wanted; /* enum contexts_wanted */
	bool is_once;	 /* others report new ones */
	struct pid_list {
		uint32_t *pids; /* whose maps are to be searched, from the end on */
		size_t n, n_allocated;
	} all, young;
	uint64_t look_at, round_at, young_round_at; /* CLOCK_MONOTONIC: not before */
	bool has_begun;
};

void context_search_deinit(struct context_search *search);

/*
 * Searches for a few milliseconds, at most, and calls `found` for each context; stops where that
 * returns < 0. 0, -ENOMEM or what `found` returned.
 */
int context_search_go_on(struct context_search *search,
			 int (*found)(uint32_t pid, const struct context_hints *hints, void *arg),
			 void *arg);

/*
 * Adds a known process to those whose maps are to be searched; before the first of them were
 * listed, it is among these anyway. 0 or -ENOMEM.
 */
int context_search_add(struct context_search *search, uint32_t pid);

/* Whether the first search is under way. */
bool context_search_is_first(const struct context_search *search);
