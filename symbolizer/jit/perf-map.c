/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/base/text.h"
#include "symbolizer/jit/perf-map.h"

enum { CHUNK_SIZE = 64 * 1024 };

static void forget_entries(struct perf_map *map)
{
	code_history_deinit(&map->code);
	name_store_deinit(&map->names);
	free(map->name_list);
	map->name_list = NULL;
	map->code.depth = CODE_HISTORY_ALL;
	map->n_readings = 0;
}

void perf_map_deinit(struct perf_map *map)
{
	forget_entries(map);
	free(map->line);
	free(map->readings);
	*map = (struct perf_map){ 0 };
}

size_t perf_map_memory(const struct perf_map *map)
{
	return code_history_memory(&map->code) + map->code.n * sizeof(*map->name_list) +
	       map->names.n_allocated +
	       (map->readings ? PERF_MAP_READINGS_MAX * sizeof(*map->readings) : 0);
}

/* Parses "1a2b" or "0x1A2B" and blanks; advances `at`. strtoull() would need a zero byte. */
static bool parse_number(const char **at, const char *end, uint64_t *ret)
{
	const char *begin = *at;

	if (end - begin > 2 && begin[0] == '0' && (begin[1] | 0x20) == 'x')
		begin += 2;
	*ret = 0;
	for (*at = begin; *at < end && text_digit_value(**at) >= 0; ++*at) {
		if (*ret >> 60)
			return false;
		*ret = *ret << 4 | text_digit_value(**at);
	}
	if (*at == begin || *at == end || **at != ' ')
		return false;
	while (*at < end && **at == ' ')
		++*at;
	return true;
}

/* 0, -ENOSPC or -ENOMEM. */
static int try_add_entry(struct perf_map *map, uint64_t start, uint64_t end, const char *name,
			 size_t size)
{
	int r = map->code.n == PERF_MAP_ENTRIES_MAX
			? -ENOSPC
			: GROWING_LIST_MAKE_ROOM(map->name_list, map->code.n);

	map->code.depth = CODE_HISTORY_ALL;
	if (r == 0)
		r = name_store_add(&map->names, name, size, &map->name_list[map->code.n]);
	return r < 0 ? r : code_history_add(&map->code, start, end);
}

static int add_entry(struct perf_map *map, uint64_t start, uint64_t end, const char *name,
		     size_t size)
{
	int r = try_add_entry(map, start, end, name, size);

	if (r != -ENOSPC)
		return r;
	map->n_forgotten_entries += map->code.n;
	forget_entries(map);
	return try_add_entry(map, start, end, name, size);
}

/* Reads at most PERF_MAP_LINE_MAX bytes; a larger `size` only shows that the line is cut. */
static int take_line(struct perf_map *map, const char *line, size_t size)
{
	const char *at = line, *end = line + size;
	uint64_t start, length;
	bool is_cut = size > PERF_MAP_LINE_MAX;

	if (is_cut)
		end = line + PERF_MAP_LINE_MAX;
	if (!parse_number(&at, end, &start) || !parse_number(&at, end, &length) || at == end ||
	    !length || start + length < start) {
		map->n_bad_lines++;
		return 0;
	}
	if (end - at > PERF_MAP_NAME_MAX) {
		is_cut = true;
		end = at + PERF_MAP_NAME_MAX;
	}
	map->n_cut_names += is_cut;
	return add_entry(map, start, start + length, at, end - at);
}

/* Keeps the beginning of an incomplete line. */
static int keep(struct perf_map *map, const char *bytes, size_t size)
{
	size_t room = PERF_MAP_LINE_MAX + 1 - map->line_size;

	if (!map->line)
		map->line = malloc(PERF_MAP_LINE_MAX + 1);
	if (!map->line)
		return -ENOMEM;
	if (size > room)
		size = room;
	memcpy(map->line + map->line_size, bytes, size);
	map->line_size += size;
	return 0;
}

static int take_rest_of_line(struct perf_map *map, const char *bytes, size_t size)
{
	int r = keep(map, bytes, size);

	if (r == 0)
		r = take_line(map, map->line, map->line_size);
	map->line_size = 0;
	return r;
}

int perf_map_add(struct perf_map *map, const char *bytes, size_t size)
{
	const char *newline;
	int r = 0;

	if (size > PERF_MAP_SIZE_MAX - map->size) {
		map->n_refused_bytes += size;
		map->size = PERF_MAP_SIZE_MAX;
		forget_entries(map);
		return 0;
	}
	map->size += size;
	while (r == 0 && size && (newline = memchr(bytes, '\n', size))) {
		if (map->line_size)
			r = take_rest_of_line(map, bytes, newline - bytes);
		else
			r = take_line(map, bytes, newline - bytes);
		size -= newline + 1 - bytes;
		bytes = newline + 1;
	}
	return r == 0 && size ? keep(map, bytes, size) : r;
}

static int read_on(struct perf_map *map, int fd, uint64_t most)
{
	char chunk[CHUNK_SIZE];
	uint64_t n_read = 0;
	size_t n = 1;
	int r = 0;

	for (; r == 0 && n && n_read < most && map->size < PERF_MAP_SIZE_MAX; n_read += n) {
		r = growing_file_read(&map->file, fd, chunk, sizeof(chunk), &n);
		if (r == 0)
			r = perf_map_add(map, chunk, n);
	}
	map->is_behind = n && map->size < PERF_MAP_SIZE_MAX;
	return r;
}

/* Keeps the later of each two readings: it covers as much, but since when is less exact. */
static void thin_out(struct perf_map *map)
{
	size_t n = map->n_readings / 2;

	for (size_t i = 0; i < n; i++)
		map->readings[i] = map->readings[2 * i + 1];
	map->n_readings = n;
}

static int note_reading(struct perf_map *map, uint64_t begun)
{
	struct perf_map_reading *last =
		map->n_readings ? &map->readings[map->n_readings - 1] : NULL;

	if (last && last->n == map->code.n) {
		last->begun = begun;
		return 0;
	}
	if (!map->readings)
		map->readings = calloc(PERF_MAP_READINGS_MAX, sizeof(*map->readings));
	if (!map->readings)
		return -ENOMEM;
	if (map->n_readings == PERF_MAP_READINGS_MAX)
		thin_out(map);
	map->readings[map->n_readings++] =
		(struct perf_map_reading){ clock_now(CLOCK_MONOTONIC), begun, map->code.n };
	return 0;
}

int perf_map_read(struct perf_map *map, int fd, uint64_t most)
{
	uint64_t size, begun = clock_now(CLOCK_MONOTONIC);
	int r = growing_file_check(&map->file, fd, &size);

	if (r < 0)
		return r;
	if (r == GROWING_FILE_E_ANEW) {
		map->n_anew++;
		map->line_size = 0;
		map->size = 0;
		forget_entries(map);
	}
	r = map->size < PERF_MAP_SIZE_MAX ? read_on(map, fd, most) : 0;
	return r < 0 || map->is_behind ? r : note_reading(map, begun);
}

static bool report_piece(const struct perf_map *map, size_t number, struct perf_map_entry *ret)
{
	const struct code_piece *piece;

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

/* Index of the first reading begun at or after a time; n_readings: none. */
static size_t find_reading(const struct perf_map *map, uint64_t time)
{
	return BINARY_SEARCH(i, 0, map->n_readings, map->readings[i].begun < time);
}

bool perf_map_find_at(const struct perf_map *map, uint64_t address, uint64_t time,
		      struct perf_map_entry *ret)
{
	size_t after = find_reading(map, time), first = after, before, then;

	/* `before` was certainly there at that time, and `then` may have been. */
	while (first > 0 && (first == map->n_readings || map->readings[first].ended > time))
		first--;
	if (!map->n_readings || map->readings[first].ended > time)
		before = CODE_HISTORY_NONE;
	else
		before = code_history_find(&map->code, map->readings[first].n, address);
	then = code_history_find(&map->code,
				 after < map->n_readings ? map->readings[after].n : map->code.n,
				 address);
	if (then == CODE_HISTORY_NONE) /* may have been written late */
		then = code_history_find(&map->code, map->code.n, address);
	if (then == CODE_HISTORY_NONE ||
	    (then != before && code_history_find(&map->code, then, address) != CODE_HISTORY_NONE))
		return false; /* other code was there, until an unknown time */
	return report_piece(map, then, ret);
}
