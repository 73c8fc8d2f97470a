/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dwarf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "symbolizer/dwarf/scope-names.h"

enum { ORIGINS_MAX = 8 }; /* steps from a call to its function's declaration */

struct scope {
	uint32_t parent; /* 0: none */
	const char *name;
};

void scope_names_init(struct scope_names *names)
{
	*names = (struct scope_names){ 0 };
	pair_map_init(&names->units, SCOPE_NAMES_MAX);
	pair_map_init(&names->scope_of, SCOPE_NAMES_MAX);
	pair_map_init(&names->names, SCOPE_NAMES_MAX);
}

static void free_name(uint64_t die, uint64_t dwarf, uint64_t name, void *arg)
{
	free((void *)(uintptr_t)name);
}

void scope_names_deinit(struct scope_names *names)
{
	pair_map_each(&names->names, free_name, NULL);
	pair_map_deinit(&names->names);
	pair_map_deinit(&names->scope_of);
	pair_map_deinit(&names->units);
	free(names->scopes);
	*names = (struct scope_names){ 0 };
}

size_t scope_names_size(const struct scope_names *names)
{
	return names->size + names->n_scopes * sizeof(*names->scopes) +
	       (names->scope_of.n_allocated + names->names.n_allocated) * 3 * sizeof(uint64_t);
}

static bool is_cpp(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* C++17, C++20: DWARF 6 codes in use already */
	case 0x2c:
		return true;
	default:
		return false;
	}
}

/* The file of a DIE: shared ones (dwz, split) have offsets of their own. */
static uint64_t dwarf_of(const Dwarf_Die *die)
{
	return (uintptr_t)dwarf_cu_getdwarf(die->cu);
}

static const char unnamed_type[] = "{unnamed type}";

/* The prefix for names declared in this DIE; NULL: it is no scope. */
static const char *scope_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));

	switch (dwarf_tag(die)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return name ? name : unnamed_type;
	case DW_TAG_subprogram:
		return name;
	default:
		return NULL;
	}
}

/* Adds a DIE's scope below `parent`, or returns `parent` if it is none or memory runs out. */
static uint32_t add_scope(struct scope_names *names, Dwarf_Die *die, uint32_t parent)
{
	const char *name = scope_name(die);

	if (!name || GROWING_LIST_MAKE_ROOM(names->scopes, names->n_scopes) < 0)
		return parent;
	names->scopes[names->n_scopes] = (struct scope){ parent, name };
	return names->n_scopes++;
}

static bool may_hold_functions(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static void read_children(struct scope_names *names, Dwarf_Die *die, uint32_t scope, int depth)
{
	Dwarf_Die child;

	if (depth == SCOPE_NAMES_DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		if (++names->n_dies > SCOPE_NAMES_DIES_MAX)
			return;
		if (!may_hold_functions(&child))
			continue;
		if (dwarf_tag(&child) == DW_TAG_subprogram && scope)
			pair_map_add(&names->scope_of, dwarf_dieoffset(&child), dwarf_of(&child),
				     scope);
		if (dwarf_haschildren(&child) == 1)
			read_children(names, &child, add_scope(names, &child, scope), depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* Reads the unit of a declaration. */
static void read_unit(struct scope_names *names, Dwarf_Die *declaration)
{
	Dwarf_Die unit;

	if (!dwarf_diecu(declaration, &unit, NULL, NULL) ||
	    pair_map_find(&names->units, dwarf_dieoffset(&unit), dwarf_of(&unit)) ||
	    pair_map_add(&names->units, dwarf_dieoffset(&unit), dwarf_of(&unit), 1) < 0)
		return;
	if (!names->n_scopes && GROWING_LIST_MAKE_ROOM(names->scopes, names->n_scopes) == 0)
		names->scopes[names->n_scopes++] = (struct scope){ 0 };
	names->n_dies = 0;
	if (names->n_scopes)
		read_children(names, &unit, 0, 0);
}

/* Follows a call, or a function's code, to the function's declaration. */
static Dwarf_Die find_declaration(const Dwarf_Die *die)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < ORIGINS_MAX; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (!dwarf_formref_die(dwarf_attr(&at, DW_AT_abstract_origin, &attribute), &next) &&
		    !dwarf_formref_die(dwarf_attr(&at, DW_AT_specification, &attribute), &next))
			break;
		at = next;
	}
	return at;
}

/* An unnamed type that can be called is a lambda's. */
static const char *text_of(const struct scope *scope, const char *name)
{
	return scope->name == unnamed_type && !strcmp(name, "operator()") ? "{lambda}"
									  : scope->name;
}

/* Puts a text in front of `at`; false: no room. */
static bool put_in_front(char **at, const char *start, const char *text)
{
	size_t size = strlen(text);

	if (size > (size_t)(*at - start))
		return false;
	*at -= size;
	memcpy(*at, text, size);
	return true;
}

/* Builds the name from its end. NULL: too long, or no memory. */
static char *make_name(const struct scope_names *names, uint32_t scope, const char *name)
{
	char text[SCOPE_NAMES_SIZE_MAX], *at = text + sizeof(text) - 1;
	bool fits;

	*at = 0;
	fits = put_in_front(&at, text, name);
	for (; scope && fits; scope = names->scopes[scope].parent)
		fits = put_in_front(&at, text, "::") &&
		       put_in_front(&at, text, text_of(&names->scopes[scope], name));
	return fits ? strdup(at) : NULL;
}

const char *scope_names_find(struct scope_names *names, Dwarf_Die *unit, Dwarf_Die *die,
			     const char *name)
{
	const uint64_t *scope, *known;
	Dwarf_Die declaration;
	Dwarf_Off offset;
	char *whole;

	if (!is_cpp(unit))
		return name;
	declaration = find_declaration(die);
	offset = dwarf_dieoffset(&declaration);
	read_unit(names, &declaration);
	scope = pair_map_find(&names->scope_of, offset, dwarf_of(&declaration));
	if (!scope)
		return name;
	known = pair_map_find(&names->names, offset, dwarf_of(&declaration));
	if (known)
		return (const char *)(uintptr_t)*known;
	whole = make_name(names, *scope, name);
	if (!whole)
		return name;
	if (pair_map_add(&names->names, offset, dwarf_of(&declaration), (uintptr_t)whole) < 0) {
		free(whole);
		return name;
	}
	names->size += strlen(whole) + 1;
	return whole;
}
