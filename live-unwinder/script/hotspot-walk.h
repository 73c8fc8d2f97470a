/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The methods of Java in HotSpot's frames. */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"
#include "live-unwinder/walk/walk-view.h"

/* What is recorded: traits of objects (code-table.h). */
enum hotspot_object {
	HOTSPOT_OBJECT_NONE,
	HOTSPOT_OBJECT_METHOD,
	HOTSPOT_OBJECT_CODE, /* of a compiler, or what belongs to it; its bytes are kept */
};

struct hotspot_frame {
	bool is_noted; /* it has called C++: what it executes, and its stack pointer, are near */
	uint64_t sp, pc;
	uint64_t method_identity; /* of the interpreter's; 0: not known */
	uint64_t code, code_identity;
	struct walk_call call;
};

enum hotspot_object hotspot_object_of(const struct hotspot_fields *fields,
				      const struct wire_memory *record);

/*
 * Opens the list of a sample's frames. SCRIPT_WHOLE; SCRIPT_NO_FRAMES: it is empty; others: it
 * cannot be read. The innermost one counts only where the code has its frame.
 */
enum script_outcome hotspot_walk_open(const struct hotspot_fields *fields,
				      const struct wire_sample *sample, struct walk_list_view *ret);

/* Reads element `i` of the list. */
void hotspot_frame_read(const struct walk_list_view *list, size_t i, struct hotspot_frame *ret);

/* Each frame is a segment of its own; SCRIPT_PARTLY: some have methods that are not known. */
enum script_outcome hotspot_walk_read(const struct hotspot_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret);
