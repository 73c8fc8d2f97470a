/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of a tree by their parent and what they are, in a list that grows: a node comes behind
 * its parent, and node 0 is above all. The index has at most 32 bytes a node.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct node {
	uint32_t parent;
	union {
		uint32_t what;
		uint32_t location; /* of a profile */
		uint32_t function; /* of a tree of functions */
	};
};

struct node_index {
	uint32_t *slots; /* open addressing, at most half full; 0: free, as node 0 is above all */
	size_t n_slots;	 /* a power of two */
};

void node_index_deinit(struct node_index *index);

/*
 * Where the number of a node is, or 0 that is to be set to `n` when the node is put behind the
 * `n` that `nodes` has. NULL: no memory.
 */
uint32_t *node_index_find(struct node_index *index, const struct node *nodes, size_t n,
			  struct node node);
