/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The texts that a file uses, numbered in order of first use: the string table that most formats
 * have. Index 0 is the empty text.
 */
#pragma once

#include "profile/names/names.h"

struct used_names {
	struct names *names; /* borrowed */
	uint32_t *index_of;  /* by name; 0: not used yet */
	uint32_t *list;	     /* names, by index; the first means none */
	size_t n, n_names;   /* n_names: what `index_of` has room for */
	bool has_failed;     /* out of memory: some names have index 0 */
};

/* 0 or -ENOMEM */
int used_names_init(struct used_names *used, struct names *names);
void used_names_deinit(struct used_names *used);

/* The index of a name; name 0 has index 0. */
uint32_t used_names_index(struct used_names *used, uint32_t name);

/* The same for a text that may not be interned yet. */
uint32_t used_names_index_of_text(struct used_names *used, const char *text);

static inline const char *used_names_text(const struct used_names *used, uint32_t index)
{
	return index ? names_text(used->names, used->list[index]) : "";
}
