/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hostile perf maps. An input is a byte that decides how the file is cut, then the file. Reading in
 * pieces must equal reading at once, and every lookup must equal a linear search.
 */
#include "common/base/cleanup.h"
#include "symbolizer/jit/test-perf-map-find.h"
#include "tests/fuzz/fuzz.h"

#define _cleanup_map_ _cleanup_(perf_map_deinit)

/* The last entry that holds an address, by linear search. */
static size_t look(const struct perf_map *map, uint64_t address)
{
	for (size_t i = map->code.n; i-- > 0;)
		if (address - map->code.pieces[i].start <
		    map->code.pieces[i].end - map->code.pieces[i].start)
			return i;
	return CODE_HISTORY_NONE;
}

static void check_address(const struct perf_map *map, const struct perf_map *other,
			  uint64_t address)
{
	size_t expected = look(map, address);
	struct perf_map_entry entry, same;
	bool found = perf_map_find(map, address, &entry);

	fuzz_check(found == (expected != CODE_HISTORY_NONE));
	fuzz_check(found == perf_map_find(other, address, &same));
	if (!found)
		return;
	fuzz_check(entry.start == map->code.pieces[expected].start);
	fuzz_check(entry.start + entry.size == map->code.pieces[expected].end);
	fuzz_check(entry.name == name_store_get(&map->names, map->name_list[expected]));
	fuzz_check(*entry.name && strlen(entry.name) <= PERF_MAP_NAME_MAX);
	fuzz_check(same.start == entry.start && same.size == entry.size);
	fuzz_check(!strcmp(same.name, entry.name));
}

static void check_same(const struct perf_map *map, const struct perf_map *other)
{
	fuzz_check(map->code.n == other->code.n && map->size == other->size);
	fuzz_check(map->n_bad_lines == other->n_bad_lines);
	fuzz_check(map->n_cut_names == other->n_cut_names);
	for (size_t i = 0; i < map->code.n; i++) {
		check_address(map, other, map->code.pieces[i].start - 1);
		check_address(map, other, map->code.pieces[i].start);
		check_address(map, other, map->code.pieces[i].end - 1);
		check_address(map, other, map->code.pieces[i].end);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	_cleanup_map_ struct perf_map at_once = { 0 }, in_pieces = { 0 };
	struct fuzz_input input = { bytes, size };
	uint8_t cut;

	fuzz_take(&input, &cut, sizeof(cut));
	fuzz_check(perf_map_add(&at_once, (const char *)input.bytes, input.size) == 0);
	while (input.size) {
		size_t n;
		_cleanup_free_ char *piece = fuzz_take_block(&input, 1 + cut % 61, &n);

		fuzz_check(perf_map_add(&in_pieces, piece, n) == 0);
		cut = cut * 5 + 3;
	}
	check_same(&at_once, &in_pieces);
	return 0;
}
