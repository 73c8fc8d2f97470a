/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names C++ functions without linkage names (of classes in functions or unnamed namespaces) with
 * their scopes, like other functions.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "common/base/pair-map.h"

enum {
	SCOPE_NAMES_DIES_MAX = 1 << 20, /* looked at per unit */
	SCOPE_NAMES_MAX = 1 << 22,
	SCOPE_NAMES_DEPTH_MAX = 64,
	SCOPE_NAMES_SIZE_MAX = 4096, /* bytes of a name */
};

struct scope_names {
	struct scope *scopes; /* the first is a placeholder */
	size_t n_scopes;
	struct pair_map units;	  /* (DIE of a unit, its Dwarf) → 1: already read */
	struct pair_map scope_of; /* (DIE of a function, its Dwarf) → its scope */
	struct pair_map names;	  /* (same key) → full name, owned */
	size_t n_dies, size;
};

void scope_names_init(struct scope_names *names);
void scope_names_deinit(struct scope_names *names);

/* Bytes of memory. */
size_t scope_names_size(const struct scope_names *names);

/*
 * The full name of a function of `unit` or of an inlined call whose own name is `name`, or `name`
 * if it is not C++ or has no known scope. Valid as long as `names` and `name`.
 */
const char *scope_names_find(struct scope_names *names, Dwarf_Die *unit, Dwarf_Die *die,
			     const char *name);
