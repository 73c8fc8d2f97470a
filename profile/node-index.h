/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds a tree's nodes by (parent, location or function), by at most 32 bytes of index per node.
 * The nodes are in a growing list: each follows its parent, and node 0 is the root.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct node {
	uint32_t parent;
	union {
		uint32_t what;
		uint32_t location; /* nodes of a profile */
		uint32_t function; /* nodes of a tree of functions */
	};
};

struct node_index {
	uint32_t *slots; /* open addressing, at most half full; 0: free (node 0 is the root) */
	size_t n_slots;	 /* a power of two */
};

void node_index_deinit(struct node_index *index);

/*
 * Returns the slot with the number of a node. If the slot holds 0, the node is new: the caller sets
 * it to `n` and appends the node as the n-th. NULL: no memory.
 */
uint32_t *node_index_find(struct node_index *index, const struct node *nodes, size_t n,
			  struct node node);
