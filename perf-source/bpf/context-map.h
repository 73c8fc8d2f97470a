/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gives a program that reads contexts the map with their places. */
#pragma once

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/context.skel.h"

/* A map of the loaded programs of contexts, or an empty one that the program never looks at. */
static inline int context_map_set(struct bpf_map *map, const struct bpf_map *loaded)
{
	return loaded ? bpf_map__reuse_fd(map, bpf_map__fd(loaded))
		      : bpf_map__set_max_entries(map, 1);
}

/* The same for a map of an opened skeleton. 0 or -errno. */
#define CONTEXT_MAP_SET(opened, contexts, name)                                                    \
	context_map_set((opened)->maps.name, (contexts) && context_program_is_loaded(contexts)     \
						     ? (contexts)->skeleton->maps.name             \
						     : NULL)
