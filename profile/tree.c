/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "profile/tree.h"

const char *tree_kind_mark(enum tree_function_kind kind)
{
	switch (kind) {
	case TREE_KERNEL:
		return " [kernel]";
	case TREE_JIT:
		return " [jit]";
	case TREE_INLINED:
		return " (inlined)";
	default:
		return "";
	}
}

/* State while a tree is made. */
struct tree_builder {
	struct tree *tree;
	enum tree_detail detail;
	struct pair_map functions; /* (name and line, file, module and kind) → index */
	struct node_index nodes;
	uint32_t *function_of; /* by call of the profile: index + 1; 0: not looked up yet */
};

/* The index of a pair; if it is new, it becomes `n`. 0 or -ENOMEM. */
static int find(struct pair_map *map, uint64_t a, uint64_t b, size_t n, size_t *ret)
{
	uint64_t *known = pair_map_find(map, a, b);

	*ret = known ? *known : n;
	return known ? 0 : pair_map_add(map, a, b, n);
}

static int find_function(struct tree_builder *building, struct tree_function function, size_t *ret)
{
	struct tree *tree = building->tree;
	/* Fits: modules are fewer than 1 << 24. */
	uint64_t rest = (uint64_t)function.line.file << 32 | function.module << 8 | function.kind;
	int r = find(&building->functions, (uint64_t)function.line.line << 32 | function.name, rest,
		     tree->n_functions, ret);

	if (r < 0 || *ret < tree->n_functions)
		return r;
	r = GROWING_LIST_ADD(tree->functions, tree->n_functions, function);
	return r;
}

static int find_node(struct tree_builder *building, struct node node, uint32_t *ret)
{
	struct tree *tree = building->tree;
	uint32_t *slot = node_index_find(&building->nodes, tree->nodes, tree->n_nodes, node);

	if (!slot || (!*slot && GROWING_LIST_MAKE_ROOM(tree->nodes, tree->n_nodes) < 0))
		return -ENOMEM;
	if (!*slot) {
		tree->nodes[tree->n_nodes] = node;
		*slot = tree->n_nodes++;
	}
	*ret = *slot;
	return 0;
}

/* The function of the i-th call at a location. */
static int find_function_of_call(struct tree_builder *building,
				 const struct profile_location *location, size_t i, uint32_t *ret)
{
	const struct profile_call *call = &building->tree->profile->calls[location->first_call + i];
	uint32_t *known = &building->function_of[location->first_call + i];
	struct tree_function function = {
		.name = call->name,
		.module = building->detail == TREE_OF_NAMES ? 0 : location->module,
		.line = building->detail == TREE_OF_LINES ? call->line : (struct source_line){ 0 },
		.kind = i ? TREE_INLINED : (enum tree_function_kind)location->kind,
	};
	size_t index;
	int r = 0;

	if (!*known) {
		r = find_function(building, function, &index);
		*known = index + 1;
	}
	*ret = *known - 1;
	return r;
}

/* Makes all nodes. Parents come before their children. */
static int build(struct tree_builder *building)
{
	struct tree *tree = building->tree;
	const struct profile *profile = tree->profile;
	int r = 0;

	for (size_t i = 1; i < profile->n_nodes && r == 0; i++) {
		const struct node *node = &profile->nodes[i];
		const struct profile_location *location = &profile->locations[node->location];
		struct node at = { .parent = tree->node_of[node->parent] };

		for (size_t k = 0; k < location->n_calls && r == 0; k++) {
			r = find_function_of_call(building, location, k, &at.function);
			if (r == 0)
				r = find_node(building, at, &at.parent);
		}
		tree->node_of[i] = at.parent;
	}
	return r;
}

int tree_init(struct tree *tree, const struct profile *profile, enum tree_detail detail)
{
	_cleanup_free_ uint32_t *function_of = calloc(profile->n_calls + 1, sizeof(*function_of));
	struct tree_builder building = { .tree = tree,
					 .detail = detail,
					 .function_of = function_of };
	int r;

	*tree = (struct tree){ .profile = profile };
	tree->node_of = calloc(profile->n_nodes, sizeof(*tree->node_of));
	tree->nodes = calloc(1, sizeof(*tree->nodes));
	tree->n_nodes = 1;
	pair_map_init(&building.functions, PROFILE_CALLS_MAX);
	r = function_of && tree->node_of && tree->nodes ? build(&building) : -ENOMEM;
	pair_map_deinit(&building.functions);
	node_index_deinit(&building.nodes);
	return r;
}

void tree_deinit(struct tree *tree)
{
	free(tree->functions);
	free(tree->nodes);
	free(tree->node_of);
	*tree = (struct tree){ 0 };
}
