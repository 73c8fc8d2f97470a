/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "symbolizer/dwarf/unit-index.h"

/* Intervals of units, numbered in file order until all are read. */
struct index_builder {
	struct unit_index *index;
	const struct interval_map *code;
	const struct unit_limits *limits;
	struct interval *list;
	size_t n;
	bool has_silent; /* some units may not list all their code */
};

static int add_range(struct index_builder *builder, uint64_t start, uint64_t end, uint32_t unit)
{
	if (start >= end || interval_map_find(builder->code, start) == INTERVAL_NONE)
		return 0;
	if (builder->n == builder->limits->n_ranges) {
		builder->index->n_ranges_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(builder->list, builder->n, (struct interval){ start, end, unit });
}

static int add_unit(struct index_builder *builder, Dwarf_CU *unit)
{
	struct unit_index *index = builder->index;

	if (index->n_units == builder->limits->n_units) {
		index->n_units_refused++;
		return 0;
	}
	return GROWING_LIST_ADD(index->units, index->n_units, unit);
}

static bool has_code(Dwarf_Die *die, uint8_t unit_type)
{
	return (unit_type == DW_UT_compile && dwarf_tag(die) == DW_TAG_compile_unit) ||
	       unit_type == DW_UT_skeleton;
}

/* DWARF 2 can describe code in several sections only in .debug_aranges. */
static bool has_all(Dwarf_Die *die)
{
	return dwarf_hasattr(die, DW_AT_ranges);
}

/* Adds the ranges listed by a unit's first DIE. */
static int add_unit_ranges(struct index_builder *builder, Dwarf_Die *die, uint32_t unit)
{
	size_t n_looked_at = 0;
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	int r = 0;

	while (r == 0 && (next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		if (n_looked_at++ == builder->limits->n_ranges) {
			builder->index->n_ranges_refused++;
			break;
		}
		r = add_range(builder, start, end, unit);
	}
	return r;
}

/*
 * Adds all units with code, and their ranges. Type units, and those shared by dwz or LTO, have
 * none. The limit on ranges also holds for each unit's list, as units may share a list.
 */
static int add_units(struct index_builder *builder, Dwarf *dwarf)
{
	size_t *n_units = &builder->index->n_units;
	Dwarf_CU *unit = NULL;
	uint8_t unit_type;
	Dwarf_Die die;
	int r = 0;

	while (r == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &unit_type, &die, NULL) == 0) {
		size_t number = *n_units;

		if (!has_code(&die, unit_type))
			continue;
		r = add_unit(builder, unit);
		if (r == 0 && *n_units > number)
			r = add_unit_ranges(builder, &die, number);
		if (!has_all(&die))
			builder->has_silent = true;
	}
	return r;
}

static bool first_die(Dwarf_CU *unit, Dwarf_Die *ret)
{
	return dwarf_cu_info(unit, NULL, NULL, ret, NULL, NULL, NULL, NULL) == 0;
}

/* Finds the unit whose first DIE, `ret`, is at an offset; INTERVAL_NONE: none. */
static uint32_t find_unit(const struct unit_index *index, Dwarf_Off offset, Dwarf_Die *ret)
{
	size_t low = 0, high = index->n_units;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Off found;

		if (!first_die(index->units[middle], ret))
			break;
		found = dwarf_dieoffset(ret);
		if (found == offset)
			return middle;
		if (found < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return INTERVAL_NONE;
}

/* Adds ranges that units do not list themselves. */
static int add_aranges(struct index_builder *builder, Dwarf *dwarf)
{
	Dwarf_Aranges *aranges;
	size_t n;
	int r = 0;

	if (dwarf_getaranges(dwarf, &aranges, &n) < 0)
		return 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		Dwarf_Addr start;
		Dwarf_Word size;
		Dwarf_Off offset;
		Dwarf_Die die;
		uint32_t unit;

		if (dwarf_getarangeinfo(dwarf_onearange(aranges, i), &start, &size, &offset) < 0)
			continue;
		unit = find_unit(builder->index, offset, &die);
		if (unit != INTERVAL_NONE && !has_all(&die))
			r = add_range(builder, start, start + size, unit);
	}
	return r;
}

/* Gives the highest number to the first unit in the file. */
static void number_backwards(struct index_builder *builder)
{
	struct unit_index *index = builder->index;

	for (size_t i = 0; i < builder->n; i++)
		builder->list[i].number = index->n_units - 1 - builder->list[i].number;
	for (size_t i = 0; i < index->n_units / 2; i++) {
		Dwarf_CU *first = index->units[i];

		index->units[i] = index->units[index->n_units - 1 - i];
		index->units[index->n_units - 1 - i] = first;
	}
}

int unit_index_init(struct unit_index *index, Dwarf *dwarf, const struct interval_map *code,
		    const struct unit_limits *limits)
{
	struct index_builder builder = { .index = index, .code = code, .limits = limits };
	_cleanup_free_ struct interval *list = NULL;
	int r;

	*index = (struct unit_index){ 0 };
	r = add_units(&builder, dwarf);
	if (r == 0 && builder.has_silent)
		r = add_aranges(&builder, dwarf);
	list = builder.list;
	if (r == 0) {
		number_backwards(&builder);
		r = interval_map_init(&index->map, list, builder.n);
		if (r == 0)
			r = interval_map_init_overlaps(&index->shared, list, builder.n);
	}
	if (r < 0)
		unit_index_deinit(index);
	return r;
}

void unit_index_deinit(struct unit_index *index)
{
	free(index->units);
	interval_map_deinit(&index->map);
	interval_map_deinit(&index->shared);
	*index = (struct unit_index){ 0 };
}
