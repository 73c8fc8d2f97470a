/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of C++ functions that have no linkage name, as those of classes in a function or in an
 * unnamed namespace: with the scopes that they are declared in, as the other functions have them.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "common/base/pair-map.h"

enum {
	SCOPE_NAMES_DIES_MAX = 1 << 20, /* looked at, of a unit */
	SCOPE_NAMES_MAX = 1 << 22,
	SCOPE_NAMES_DEPTH_MAX = 64,
	SCOPE_NAMES_SIZE_MAX = 4096, /* bytes of a name */
};

struct scope_names {
	struct scope *scopes; /* the first is none */
	size_t n_scopes;
	struct pair_map units;	  /* (DIE of a unit, its Dwarf) → 1: its functions are known */
	struct pair_map scope_of; /* (DIE of a function, its Dwarf) → where it is declared */
	struct pair_map names;	  /* (the same) → its whole name, which is ours */
	size_t n_dies, size;
};

void scope_names_init(struct scope_names *names);
void scope_names_deinit(struct scope_names *names);

/* Bytes that it takes. */
size_t scope_names_size(const struct scope_names *names);

/*
 * The name of a function of `unit` or of an inlined call, called `name` by itself: that, if it is
 * not of C++, or nothing more is known. It lives as long as both.
 */
const char *scope_names_find(struct scope_names *names, Dwarf_Die *unit, Dwarf_Die *die,
			     const char *name);
