/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives a program that reads contexts the map with their places. */
#pragma once

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/context.skel.h"

/* The map of the loaded programs of contexts, or an empty one that the program never looks at. */
static inline int context_map_set(struct bpf_map *map, volatile bool *reads_contexts,
				  const struct context_program *contexts)
{
	*reads_contexts = contexts && context_program_is_loaded(contexts);
	if (!*reads_contexts)
		return bpf_map__set_max_entries(map, 1);
	return bpf_map__reuse_fd(map, bpf_map__fd(contexts->skeleton->maps.context_places));
}

/* The same for an opened skeleton. 0 or -errno. */
#define CONTEXT_MAP_SET(skeleton, contexts)                                                        \
	context_map_set((skeleton)->maps.context_places, &(skeleton)->rodata->reads_contexts,      \
			contexts)
