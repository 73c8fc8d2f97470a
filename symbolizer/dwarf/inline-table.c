/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "symbolizer/dwarf/inline-table.h"

const struct inline_limits inline_limits_usual = {
	.n_dies = 1 << 26,
	.n_ranges = 1 << 22,
	.depth = 256,
};

enum walk_outcome {
	WALK_OK = 0,
	WALK_E_CUT,  /* the content of a DIE is damaged or nested too deeply: unknown */
	WALK_E_OVER, /* the unit exceeds a limit */
};

enum walk_scope {
	WALK_ALL,
	WALK_FUNCTIONS, /* without inlined calls */
};

struct inline_walk {
	struct inline_table *table;
	const struct interval_map *code;
	const struct inline_limits *limits;
	enum walk_scope scope;
	size_t n_dies, n_ranges;
	const void *last; /* address of the previous DIE */
	struct interval *intervals;
	size_t n_intervals;
};

static int add_interval(struct inline_walk *walk, uint64_t start, uint64_t end, uint32_t number)
{
	return GROWING_LIST_ADD(walk->intervals, walk->n_intervals,
				(struct interval){ start, end, number });
}

/* Adds a DIE's ranges; empty ones and those that the linker dropped count for the limit, too. */
static int add_ranges(struct inline_walk *walk, Dwarf_Die *die, uint32_t number)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;

	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		if (walk->n_ranges++ == walk->limits->n_ranges)
			return WALK_E_OVER;
		if (start < end && interval_map_find(walk->code, start) != INTERVAL_NONE &&
		    add_interval(walk, start, end, number) < 0)
			return -ENOMEM;
	}
	return next < 0 ? WALK_E_CUT : WALK_OK;
}

/*
 * Adds a function, or a call inlined into `outer`. A function without code (a declaration, or
 * inlined everywhere) gets no entry, and neither do calls inlined into it.
 */
static int add_entry(struct inline_walk *walk, Dwarf_Die *die, bool is_function, uint32_t outer,
		     uint32_t *ret)
{
	struct inline_table *table = walk->table;
	size_t n_before = walk->n_intervals;
	int r;

	*ret = INTERVAL_NONE;
	if (!is_function && outer == INTERVAL_NONE)
		return WALK_OK;
	r = add_ranges(walk, die, table->n_entries);
	if (r != WALK_OK || (is_function && walk->n_intervals == n_before))
		return r;
	if (GROWING_LIST_MAKE_ROOM(table->entries, table->n_entries) < 0)
		return -ENOMEM;
	*ret = table->n_entries;
	table->entries[table->n_entries++] = (struct inline_entry){
		.die = dwarf_dieoffset(die),
		.parent = is_function ? INTERVAL_NONE : outer,
		.is_cut = walk->scope == WALK_FUNCTIONS,
	};
	return WALK_OK;
}

/* Whether a DIE may contain functions or inlined calls. */
static bool may_hold_code(int tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
	case DW_TAG_entry_point:
	case DW_TAG_common_block:
		return true;
	default:
		return false;
	}
}

static int take_children(struct inline_walk *walk, Dwarf_Die *parent, uint32_t outer, size_t depth,
			 Dwarf_Die *ret_end);

/* Restores an earlier state of the table. */
static void roll_back(struct inline_walk *walk, size_t n_entries, size_t n_intervals)
{
	walk->table->n_entries = n_entries;
	walk->n_intervals = n_intervals;
}

/* Takes an outermost function with its content; damage in it costs its inlined calls, no others. */
static int take_function(struct inline_walk *walk, Dwarf_Die *die, size_t depth, Dwarf_Die *ret_end)
{
	size_t n_entries = walk->table->n_entries, n_intervals = walk->n_intervals;
	uint32_t self;
	int r = add_entry(walk, die, true, INTERVAL_NONE, &self);

	if (r == WALK_E_CUT) {
		roll_back(walk, n_entries, n_intervals);
		walk->table->n_refused++;
		return WALK_OK;
	}
	if (r != WALK_OK || walk->scope == WALK_FUNCTIONS)
		return r;
	n_entries = walk->table->n_entries;
	n_intervals = walk->n_intervals;
	r = take_children(walk, die, self, depth + 1, ret_end);
	if (r != WALK_E_CUT)
		return r;
	roll_back(walk, n_entries, n_intervals);
	if (self == INTERVAL_NONE) {
		walk->table->n_refused++;
	} else {
		walk->table->entries[self].is_cut = true;
		walk->table->n_cut++;
	}
	*ret_end = (Dwarf_Die){ 0 };
	return WALK_OK;
}

/* Takes a DIE with its content; `ret_end` is where that ended, if it was walked. */
static int take_die(struct inline_walk *walk, Dwarf_Die *die, uint32_t outer, size_t depth,
		    Dwarf_Die *ret_end)
{
	int tag = dwarf_tag(die), r = WALK_OK;
	uint32_t self = outer;

	/* DIEs are consecutive; a reference backwards would loop forever. */
	if (tag == DW_TAG_invalid || die->addr <= walk->last)
		return WALK_E_CUT;
	if (walk->n_dies++ == walk->limits->n_dies)
		return WALK_E_OVER;
	walk->last = die->addr;
	if (tag == DW_TAG_subprogram && outer == INTERVAL_NONE)
		return take_function(walk, die, depth, ret_end);
	if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
		r = add_entry(walk, die, tag == DW_TAG_subprogram, outer, &self);
	if (r == WALK_OK && may_hold_code(tag))
		r = take_children(walk, die, self, depth + 1, ret_end);
	return r;
}

/*
 * The DIE behind another one and its content. Without DW_AT_sibling dwarf_siblingof() would walk
 * that again, so this continues where the walk ended. 0; 1: none, `ret` ends the list; -1: damaged.
 */
static int step(Dwarf_Die *die, Dwarf_Die *inner_end, Dwarf_Die *ret)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(die->cu);

	*ret = (Dwarf_Die){ .cu = die->cu };
	if (!inner_end->addr)
		return dwarf_siblingof(die, ret);
	if (!dwarf_offdie(dwarf, dwarf_dieoffset(inner_end) + 1, ret) || ret->cu != die->cu) {
		ret->addr = NULL; /* the unit ends here, with list ends missing */
		return 1;
	}
	if (dwarf_tag(ret) != DW_TAG_invalid)
		return 0;
	return *(const unsigned char *)ret->addr ? -1 : 1;
}

static int take_children(struct inline_walk *walk, Dwarf_Die *parent, uint32_t outer, size_t depth,
			 Dwarf_Die *ret_end)
{
	Dwarf_Die die;
	int r = dwarf_child(parent, &die);

	if (r != 0)
		return r < 0 ? WALK_E_CUT : WALK_OK;
	if (depth > walk->limits->depth)
		return WALK_E_CUT;
	for (;;) {
		Dwarf_Die inner_end = { 0 }, next;

		r = take_die(walk, &die, outer, depth, &inner_end);
		if (r != WALK_OK)
			return r;
		r = step(&die, &inner_end, &next);
		if (r < 0)
			return WALK_E_CUT;
		if (r > 0) {
			*ret_end = next;
			return WALK_OK;
		}
		die = next;
	}
}

/* Walks a unit in as much detail as its limits allow. 0 or -ENOMEM. */
static int walk_unit(struct inline_walk *walk, Dwarf_Die *unit)
{
	enum walk_scope scopes[] = { WALK_ALL, WALK_FUNCTIONS };
	int r = WALK_E_OVER;

	for (size_t i = 0; i < 2 && r == WALK_E_OVER; i++) {
		Dwarf_Die end;

		roll_back(walk, 0, 0);
		walk->n_dies = walk->n_ranges = 0;
		walk->last = NULL;
		walk->scope = scopes[i];
		walk->table->n_cut = walk->table->n_refused = 0;
		r = take_children(walk, unit, INTERVAL_NONE, 1, &end);
	}
	if (r < 0)
		return r;
	walk->table->n_refused += r != WALK_OK;
	if (walk->scope == WALK_FUNCTIONS)
		walk->table->n_cut = walk->table->n_entries;
	return 0;
}

/* Functions that a linker (gold) folded into one; their inlined calls are left out. */
static int find_shared(struct inline_table *table, struct interval *list, size_t n)
{
	size_t n_functions = 0;

	for (size_t i = 0; i < n; i++)
		if (table->entries[list[i].number].parent == INTERVAL_NONE)
			list[n_functions++] = list[i];
	return interval_map_init_overlaps(&table->shared, list, n_functions);
}

int inline_table_init(struct inline_table *table, Dwarf_Die *unit, const struct interval_map *code,
		      const struct inline_limits *limits)
{
	struct inline_walk walk = { .table = table, .code = code, .limits = limits };
	_cleanup_free_ struct interval *intervals = NULL;
	int r;

	*table = (struct inline_table){ 0 };
	r = walk_unit(&walk, unit);
	intervals = walk.intervals;
	if (r == 0)
		r = interval_map_init(&table->map, intervals, walk.n_intervals);
	if (r == 0)
		r = find_shared(table, intervals, walk.n_intervals);
	if (r < 0) {
		inline_table_deinit(table);
		return r;
	}
	GROWING_LIST_TRIM(table->entries, table->n_entries);
	return 0;
}

void inline_table_deinit(struct inline_table *table)
{
	free(table->entries);
	interval_map_deinit(&table->map);
	interval_map_deinit(&table->shared);
	*table = (struct inline_table){ 0 };
}

size_t inline_table_size(const struct inline_table *table)
{
	return table->n_entries * sizeof(*table->entries) + interval_map_size(&table->map) +
	       interval_map_size(&table->shared);
}

const struct inline_entry *inline_table_find(const struct inline_table *table, uint64_t address)
{
	uint32_t number = interval_map_find(&table->map, address);

	return number == INTERVAL_NONE ? NULL : &table->entries[number];
}
