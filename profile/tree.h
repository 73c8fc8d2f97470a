/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A profile as a tree of function calls, without offsets; inlined functions are nodes, too. */
#pragma once

#include "profile/profile.h"

enum tree_function_kind {
	TREE_USER = PROFILE_USER,
	TREE_KERNEL = PROFILE_KERNEL,
	TREE_JIT = PROFILE_JIT,
	TREE_CUT = PROFILE_CUT,
	TREE_SCRIPT = PROFILE_SCRIPT,
	TREE_INLINED,
};

/* One function of the tree is a function, a line of it, or all functions of a name and kind. */
enum tree_detail { TREE_OF_FUNCTIONS, TREE_OF_LINES, TREE_OF_NAMES };

struct tree_function {
	uint32_t name, module;	 /* a name; an index of the profile's modules */
	struct source_line line; /* with TREE_OF_LINES, if known */
	enum tree_function_kind kind;
};

struct tree {
	const struct profile *profile; /* borrowed */
	struct tree_function *functions;
	struct node *nodes; /* each has a function */
	uint32_t *node_of;  /* by node of the profile */
	size_t n_functions, n_nodes;
};

/* The suffix of names that are not the program's own functions: " [kernel]"; or "". */
const char *tree_kind_mark(enum tree_function_kind kind);

/* The profile must be settled. 0 or -ENOMEM; the caller calls tree_deinit() in both cases. */
int tree_init(struct tree *tree, const struct profile *profile, enum tree_detail detail);
void tree_deinit(struct tree *tree);
