/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf-source/context/walk-root.h"

enum {
	WORD = 8,
	DTV_ITEM = 16,
};

void walk_root_add(struct walk_root *root, int64_t offset)
{
	root->loads[root->n_loads++] = (int32_t)offset;
}

/* The blocks of modules are in a vector (dtv), which the thread has behind its first word. */
struct walk_root walk_root_of_variable(const struct context_place *place)
{
	struct walk_root root = { .base = WALK_BASE_THREAD, .start = place->offset, .self = -1 };

	if (place->kind == CONTEXT_PLACE_DYNAMIC) {
		root.start = WORD;
		walk_root_add(&root, (int64_t)place->module * DTV_ITEM);
		walk_root_add(&root, place->offset);
	}
	return root;
}
