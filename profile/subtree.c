/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "profile/subtree.h"

struct subtree_builder {
	struct subtree *subtree;
	const struct counts *counts;
	const bool *functions;
	struct pair_map index; /* (parent, function) → node */
	uint32_t *copy_of;     /* by node of the tree: its copy; 0: none */
};

static int find_node(struct subtree_builder *building, uint32_t parent, uint32_t function,
		     uint32_t *ret)
{
	struct subtree *subtree = building->subtree;
	uint64_t *known = pair_map_find(&building->index, parent, function);
	int r;

	*ret = known ? *known : subtree->n;
	if (known)
		return 0;
	r = pair_map_add(&building->index, parent, function, subtree->n);
	if (r == 0)
		r = GROWING_LIST_ADD(
			subtree->nodes, subtree->n,
			(struct subtree_node){ .parent = parent, .function = function });
	return r;
}

/* Copies all nodes at or below a function that matches (NULL: all nodes), with their counts. */
static int copy_downwards(struct subtree_builder *building)
{
	const struct tree *tree = building->counts->tree;
	int r = 0;

	for (size_t i = 1; i < tree->n_nodes && r == 0; i++) {
		uint32_t function = tree->nodes[i].function;
		uint32_t parent = building->copy_of[tree->nodes[i].parent];

		if (!building->counts->total[i] ||
		    (!parent && building->functions && !building->functions[function]))
			continue;
		r = find_node(building, parent, function, &building->copy_of[i]);
		if (r == 0)
			building->subtree->nodes[building->copy_of[i]].self +=
				building->counts->self[i];
	}
	return r;
}

/* Copies the callers of each outermost node that matches, out to the thread's beginning. */
static int copy_callers(struct subtree_builder *building)
{
	const struct tree *tree = building->counts->tree;
	int r = 0;

	for (size_t i = 1; i < tree->n_nodes && r == 0; i++) {
		uint32_t node = 0, at = i;

		building->copy_of[i] = building->copy_of[tree->nodes[i].parent]; /* below a match */
		if (building->copy_of[i] || !building->counts->total[i] ||
		    !building->functions[tree->nodes[i].function])
			continue;
		building->copy_of[i] = 1;
		for (; at && r == 0; at = tree->nodes[at].parent)
			r = find_node(building, node, tree->nodes[at].function, &node);
		if (r == 0)
			building->subtree->nodes[node].self += building->counts->total[i];
	}
	return r;
}

static void sum_up(struct subtree *subtree)
{
	for (size_t i = 0; i < subtree->n; i++)
		subtree->nodes[i].total = subtree->nodes[i].self;
	for (size_t i = subtree->n; --i;)
		subtree->nodes[subtree->nodes[i].parent].total += subtree->nodes[i].total;
}

static int compare(const void *a, const void *b, void *arg)
{
	const struct subtree_node *nodes = arg;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (nodes[i].total != nodes[k].total)
		return nodes[i].total < nodes[k].total ? -1 : 1;
	return i < k ? 1 : i > k ? -1 : 0;
}

/* Links the smallest first, so that the largest is the first child. */
static int link_children(struct subtree *subtree)
{
	_cleanup_free_ uint32_t *order = calloc(subtree->n, sizeof(*order));
	struct subtree_node *nodes = subtree->nodes;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < subtree->n; i++)
		order[i] = i;
	qsort_r(order + 1, subtree->n - 1, sizeof(*order), compare, nodes);
	for (size_t i = 1; i < subtree->n; i++) {
		struct subtree_node *node = &nodes[order[i]];

		node->next_sibling = nodes[node->parent].first_child;
		nodes[node->parent].first_child = order[i];
	}
	return 0;
}

int subtree_init(struct subtree *subtree, const struct counts *counts, enum subtree_kind kind,
		 const bool *functions)
{
	_cleanup_free_ uint32_t *copy_of = calloc(counts->tree->n_nodes, sizeof(*copy_of));
	struct subtree_builder building = { subtree, counts, functions, .copy_of = copy_of };
	int r;

	*subtree = (struct subtree){ .nodes = calloc(1, sizeof(*subtree->nodes)), .n = 1 };
	pair_map_init(&building.index, SIZE_MAX);
	if (!copy_of || !subtree->nodes)
		r = -ENOMEM;
	else
		r = kind == SUBTREE_CALLERS ? copy_callers(&building) : copy_downwards(&building);
	pair_map_deinit(&building.index);
	if (r < 0)
		return r;
	sum_up(subtree);
	return link_children(subtree);
}

void subtree_deinit(struct subtree *subtree)
{
	free(subtree->nodes);
	*subtree = (struct subtree){ 0 };
}
