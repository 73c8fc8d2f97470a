/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Puts all that a debug_info knows of inlined calls and lines into one table (call-table.h), unit
 * by unit. The debug_info stays as it is: units that were not looked up yet are read for this
 * alone.
 */
#pragma once

#include "symbolizer/dwarf/call-table.h"
#include "symbolizer/dwarf/debug-info.h"

enum debug_flattening_outcome {
	DEBUG_FLATTENING_DONE = 0,
	DEBUG_FLATTENING_MORE,	   /* units are left */
	DEBUG_FLATTENING_E_PARTLY, /* some DWARF is in other files, or was refused */
};

struct debug_flattening {
	struct debug_info *info;   /* borrowed */
	struct unit_place *places; /* of the index of units, by unit */
	size_t next;
};

/* DEBUG_FLATTENING_MORE, DEBUG_FLATTENING_E_PARTLY or -ENOMEM. */
int debug_flattening_init(struct debug_flattening *flattening, struct debug_info *info);
void debug_flattening_deinit(struct debug_flattening *flattening);

/* Adds the next unit. An outcome or -errno; after another one than MORE there is no next step. */
int debug_flattening_step(struct debug_flattening *flattening, struct call_builder *builder);
