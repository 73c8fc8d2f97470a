/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The units of a file's DWARF, for what looks up addresses (debug-info.c) or takes all of them. */
#pragma once

#include "symbolizer/dwarf/debug-alt.h"
#include "symbolizer/dwarf/debug-info.h"
#include "symbolizer/dwarf/inline-table.h"
#include "symbolizer/dwarf/line-table.h"
#include "symbolizer/dwarf/scope-names.h"
#include "symbolizer/dwarf/unit-index.h"

enum unit_state {
	UNIT_NEW = 0,
	UNIT_READY,
	UNIT_REFUSED,
};

/* A unit; all but `state` is unset until its first lookup. */
struct unit {
	enum unit_state state;
	bool has_files;	     /* of its lines, with readable names */
	Dwarf_Die die;	     /* names its line table */
	Dwarf_Die described; /* has its functions; in another file for split DWARF */
	struct inline_table table;
	struct line_table lines;
};

struct debug_info {
	Dwarf *dwarf;
	struct debug_dirs dirs;
	struct debug_alt alt;
	struct interval_map code;
	struct unit_index index;
	struct unit *units; /* parallel to index.units */
	struct scope_names scopes;
	const Elf_Data *lines;
	uint64_t sections_size; /* DWARF of this file and of shared ones */
	uint64_t tables_size;	/* tables of its units */
	uint64_t programs_size; /* line programs that were run */
	bool has_package;	/* `sections_size` includes the .dwp */
	Dwarf *believed;	/* the last verified file of split DWARF */
	int fd;			/* -1: in memory */
	struct debug_info_refused refused;
};

/* Whether tables of units may take so many bytes more. */
bool debug_info_has_room(const struct debug_info *info, uint64_t size);

/* Makes the tables of a unit that was not looked up yet. 0 or -ENOMEM. */
int debug_unit_make_tables(struct debug_info *info, struct unit *unit, Dwarf_CU *cu);

/* The name of a function, or of one that was inlined; NULL: unknown. */
const char *debug_unit_function_name(struct debug_info *info, struct unit *unit, Dwarf_Die *die);

/* Sets the source line of an address, from the line table. */
void debug_unit_put_line(struct unit *unit, uint64_t address, struct inline_call *call);

/* Sets where an inlined call was made. */
void debug_unit_put_call_place(struct unit *unit, Dwarf_Die *die, struct inline_call *call);
