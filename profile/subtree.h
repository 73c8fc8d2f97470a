/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tree of counts for display: the whole tree, or the callees or callers of some functions at all
 * their occurrences. Of a recursion the outermost call counts.
 */
#pragma once

#include "profile/counts.h"

enum subtree_kind {
	SUBTREE_ALL,
	SUBTREE_CALLEES,
	SUBTREE_CALLERS, /* a function's children are its callers */
};

struct subtree_node {
	uint32_t parent, function;
	uint32_t first_child, next_sibling; /* the largest first; 0: none */
	uint64_t self, total;
};

struct subtree {
	struct subtree_node *nodes; /* node 0 is the root; each node follows its parent */
	size_t n;
};

/* `functions`: by function of the tree, whose callees or callers are wanted. 0 or -ENOMEM. */
int subtree_init(struct subtree *subtree, const struct counts *counts, enum subtree_kind kind,
		 const bool *functions);
void subtree_deinit(struct subtree *subtree);
