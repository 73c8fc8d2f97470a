/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "symbolizer/jit/perf-map.h"

/* For tests: the code that holds an address at present; false if none. */
static inline bool perf_map_find(const struct perf_map *map, uint64_t address,
				 struct perf_map_entry *ret)
{
	size_t number = code_history_find(&map->code, map->code.n, address);
	const struct code_piece *piece;

	*ret = (struct perf_map_entry){ 0 };
	if (number == CODE_HISTORY_NONE)
		return false;
	piece = &map->code.pieces[number];
	*ret = (struct perf_map_entry){
		.start = piece->start,
		.size = piece->end - piece->start,
		.name = name_store_get(&map->names, map->name_list[number]),
		.piece = number,
	};
	return true;
}
