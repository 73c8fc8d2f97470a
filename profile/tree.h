/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A profile as people look at it: functions that call functions, wherever in them that was. What
 * was inlined is a function of its own.
 */
#pragma once

#include "profile/profile.h"

enum tree_function_kind {
	TREE_USER = PROFILE_USER,
	TREE_KERNEL = PROFILE_KERNEL,
	TREE_JIT = PROFILE_JIT,
	TREE_CUT = PROFILE_CUT,
	TREE_INLINED,
};

/* What is one thing: a function, each line of it, or all functions of that name and kind. */
enum tree_detail { TREE_OF_FUNCTIONS, TREE_OF_LINES, TREE_OF_NAMES };

struct tree_function {
	uint32_t name, module;	 /* a name; an index of the profile's modules */
	struct source_line line; /* if it is a line of it, and known */
	enum tree_function_kind kind;
};

struct tree {
	const struct profile *profile; /* borrowed */
	struct tree_function *functions;
	struct node *nodes; /* their functions */
	uint32_t *node_of;  /* by node of the profile */
	size_t n_functions, n_nodes;
};

/* What stands behind the name of what is no function of a program's own: " [kernel]", or "". */
const char *tree_kind_mark(enum tree_function_kind kind);

/* Of a profile that is settled. 0 or -ENOMEM. */
int tree_init(struct tree *tree, const struct profile *profile, enum tree_detail detail);
void tree_deinit(struct tree *tree);
