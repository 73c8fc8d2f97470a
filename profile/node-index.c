/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "common/base/hash.h"
#include "profile/node-index.h"

enum { SLOTS_MIN = 1024 };

void node_index_deinit(struct node_index *index)
{
	free(index->slots);
	*index = (struct node_index){ 0 };
}

static uint32_t *find_slot(const struct node_index *index, const struct node *nodes,
			   struct node node)
{
	uint64_t hash = hash_word(0, (uint64_t)node.parent << 32 | node.what);

	return HASH_PROBE(
		index->slots, index->n_slots, hash >> 32, slot,
		!*slot || (nodes[*slot].parent == node.parent && nodes[*slot].what == node.what));
}

/* At least four times the nodes, because growing inserts all of them again. */
static int grow(struct node_index *index, const struct node *nodes, size_t n)
{
	size_t n_slots = SLOTS_MIN;

	while (n_slots <= 4 * n)
		n_slots *= 2;
	free(index->slots);
	index->slots = calloc(n_slots, sizeof(*index->slots));
	index->n_slots = index->slots ? n_slots : 0;
	if (!index->slots)
		return -1;
	for (size_t i = 1; i < n; i++)
		*find_slot(index, nodes, nodes[i]) = i;
	return 0;
}

uint32_t *node_index_find(struct node_index *index, const struct node *nodes, size_t n,
			  struct node node)
{
	if (2 * n >= index->n_slots && grow(index, nodes, n) < 0)
		return NULL;
	return find_slot(index, nodes, node);
}
