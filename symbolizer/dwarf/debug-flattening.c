/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/binary-search.h"
#include "symbolizer/dwarf/debug-flattening.h"
#include "symbolizer/dwarf/debug-units.h"

/* Indices of the index's places by their units. */
struct unit_place {
	uint32_t unit, place;
};

static int compare_units(const void *a, const void *b)
{
	const struct unit_place *left = a, *right = b;

	if (left->unit != right->unit)
		return left->unit < right->unit ? -1 : 1;
	return left->place < right->place ? -1 : left->place > right->place;
}

/* Whether all of a file's DWARF is in that file. */
static bool is_alone(const struct debug_info *info)
{
	return !info->alt.file.elf && !dwarf_getalt(info->dwarf);
}

int debug_flattening_init(struct debug_flattening *flattening, struct debug_info *info)
{
	const struct interval_map *map = &info->index.map;

	*flattening = (struct debug_flattening){ .info = info };
	if (!is_alone(info) || map->n > UINT32_MAX)
		return DEBUG_FLATTENING_E_PARTLY;
	flattening->places = calloc(map->n + 1, sizeof(*flattening->places));
	if (!flattening->places)
		return -ENOMEM;
	for (size_t i = 0; i < map->n; i++)
		flattening->places[i] = (struct unit_place){ map->numbers[i], i };
	qsort(flattening->places, map->n, sizeof(*flattening->places), compare_units);
	return DEBUG_FLATTENING_MORE;
}

void debug_flattening_deinit(struct debug_flattening *flattening)
{
	free(flattening->places);
	*flattening = (struct debug_flattening){ 0 };
}

/* Adds the functions and inlined calls of a unit. 0 or -errno. */
static int flatten_entries(struct debug_info *info, struct unit *unit, struct call_builder *builder)
{
	size_t n_before = builder->n_entries;
	int r = 0;

	for (size_t i = 0; i < unit->table.n_entries && r == 0; i++) {
		const struct inline_entry *entry = &unit->table.entries[i];
		struct inline_call place = { 0 };
		struct call_entry flat = { .parent = INTERVAL_NONE };
		Dwarf_Die die;

		if (entry->is_cut ||
		    !dwarf_offdie(dwarf_cu_getdwarf(unit->described.cu), entry->die, &die))
			return -EBADMSG;
		flat.name = string_pool_add(&builder->strings,
					    debug_unit_function_name(info, unit, &die));
		if (entry->parent != INTERVAL_NONE) {
			debug_unit_put_call_place(unit, &die, &place);
			flat.parent = n_before + entry->parent;
			flat.file = string_pool_add(&builder->strings, place.file);
			flat.line = place.line;
			flat.column = place.column;
		}
		r = call_builder_add_entry(builder, &flat);
	}
	return r < 0 ? r : builder->strings.error;
}

/* Adds the calls from an address on; `number` counts the unit's entries. */
static int flatten_span(struct call_builder *builder, size_t n_before, uint64_t address,
			uint32_t number)
{
	const struct built_place place = {
		.address = address,
		.number = number == INTERVAL_NONE ? number : n_before + number,
	};

	return call_builder_add_span(builder, &place);
}

/* Adds the line of an address. */
static int flatten_row(struct unit *unit, struct call_builder *builder, uint64_t address)
{
	struct inline_call line = { 0 };
	struct built_place place = { .address = address };

	debug_unit_put_line(unit, address, &line);
	place.row.file = string_pool_add(&builder->strings, line.file);
	place.row.line = line.line;
	place.row.column = line.column;
	return call_builder_add_row(builder, &place);
}

/* Adds what is known of a unit's addresses from one on, up to another one. 0 or -errno. */
static int flatten_range(struct unit *unit, struct call_builder *builder, size_t n_before,
			 uint64_t from, uint64_t to)
{
	const struct interval_map *map = &unit->table.map;
	const struct built_place end = { .address = to, .is_end = true, .number = INTERVAL_NONE },
				 end_of_line = { .address = to, .is_end = true };
	const struct line_table *lines = &unit->lines;
	size_t next = BINARY_SEARCH(i, 0, map->n, map->starts[i] <= from),
	       row = BINARY_SEARCH(i, 0, lines->n, lines->base + lines->rows[i].offset <= from);
	int r = flatten_span(builder, n_before, from, interval_map_find(map, from));

	for (; next < map->n && map->starts[next] < to && r == 0; next++)
		r = flatten_span(builder, n_before, map->starts[next], map->numbers[next]);
	if (r == 0)
		r = flatten_row(unit, builder, from);
	for (; row < lines->n && lines->base + lines->rows[row].offset < to && r == 0; row++)
		r = flatten_row(unit, builder, lines->base + lines->rows[row].offset);
	if (r == 0)
		r = call_builder_add_span(builder, &end);
	return r < 0 ? r : call_builder_add_row(builder, &end_of_line);
}

/* Frees a unit's tables, as if it had not been looked up. */
static void forget_unit(struct debug_info *info, struct unit *unit)
{
	info->tables_size -= inline_table_size(&unit->table) + line_table_size(&unit->lines);
	inline_table_deinit(&unit->table);
	line_table_deinit(&unit->lines);
	*unit = (struct unit){ .state = UNIT_NEW };
}

/* Adds all of the next unit, which is ready, and passes its places. 0 or -errno. */
static int flatten_unit(struct debug_flattening *flattening, struct unit *unit,
			struct call_builder *builder)
{
	struct debug_info *info = flattening->info;
	const struct interval_map *map = &info->index.map;
	uint32_t number = flattening->places[flattening->next].unit;
	size_t n_before = builder->n_entries;
	int r = flatten_entries(info, unit, builder);

	for (; flattening->next < map->n && flattening->places[flattening->next].unit == number;
	     flattening->next++) {
		uint32_t place = flattening->places[flattening->next].place;

		if (r == 0)
			r = flatten_range(unit, builder, n_before, map->starts[place],
					  place + 1 < map->n ? map->starts[place + 1] : UINT64_MAX);
	}
	return r;
}

int debug_flattening_step(struct debug_flattening *flattening, struct call_builder *builder)
{
	struct debug_info *info = flattening->info;
	struct debug_info_refused refused = info->refused;
	uint64_t programs_size = info->programs_size;
	uint32_t number = flattening->next < info->index.map.n
				  ? flattening->places[flattening->next].unit
				  : INTERVAL_NONE; /* they come last */
	struct unit *unit;
	bool was_new;
	int r = 0;

	if (number == INTERVAL_NONE)
		return DEBUG_FLATTENING_DONE;
	unit = &info->units[number];
	was_new = unit->state == UNIT_NEW;
	if (was_new)
		r = debug_unit_make_tables(info, unit, info->index.units[number]);
	if (r == 0 && (unit->state != UNIT_READY || unit->die.cu != unit->described.cu))
		r = DEBUG_FLATTENING_E_PARTLY;
	if (r == 0)
		r = flatten_unit(flattening, unit, builder);
	if (memcmp(&refused, &info->refused, sizeof(refused)) || !debug_info_has_room(info, 0))
		r = DEBUG_FLATTENING_E_PARTLY;
	if (was_new) {
		forget_unit(info, unit);
		info->programs_size = programs_size;
		info->refused = refused;
	}
	return r == 0 ? DEBUG_FLATTENING_MORE : r;
}
