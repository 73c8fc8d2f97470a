/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tables that all profiles of an OTLP message share. Entries are added as they are needed; the
 * first entry of each table is the null entry.
 *
 * An address is that of the ELF file as linked, in a mapping that is one of its segments: so a
 * backend finds it in a debug file (or debuginfod) by the build-id alone. A place without a name
 * has no line, as backends look up no place that has one. Where the segments are not known, an
 * address is the offset in the file, and its mapping has no build-id to look it up by.
 */
#pragma once

#include "formats/protobuf.h"
#include "profile/names/used-names.h"
#include "profile/profile.h"

/* A list of attributes, and a link, of samples: an attribute after those of another set. */
struct otlp_set {
	uint32_t before; /* 0: it is the first */
	uint32_t attribute, link;
};

struct otlp_dictionary {
	const struct profile *profile;
	struct used_names strings;
	struct pair_map functions;   /* (name, file) → index */
	struct pair_map attributes;  /* (key, number or name | IS_TEXT) → index */
	struct pair_map mappings;    /* (path and id, address of a segment + 1) → index */
	struct pair_map scripts;     /* (function and line, mapping) → index */
	struct pair_map set_of_last; /* (set, attribute or link | IS_LINK) → set */
	struct otlp_set *sets;	     /* by number - 1 */
	size_t n_sets;
	uint32_t *index_of_location, *stack_of_node, *link_of_context; /* 0: none yet; none */
	uint32_t n_locations, n_stacks;
	struct protobuf function_table, attribute_table, mapping_table, location_table, stack_table;
	struct protobuf location, mapping, inner, value, list; /* while one of them is made */
	bool has_failed; /* out of memory, or a table is full */
};

/* The profile is borrowed. 0 or -ENOMEM. */
int otlp_dictionary_init(struct otlp_dictionary *dictionary, const struct profile *profile);
void otlp_dictionary_deinit(struct otlp_dictionary *dictionary);

/* The index of a string. */
uint32_t otlp_string(struct otlp_dictionary *dictionary, const char *text);

/* The index of an attribute: of a text (a name of the profile), or of a number. */
uint32_t otlp_attribute_text(struct otlp_dictionary *dictionary, const char *key, uint32_t name);
uint32_t otlp_attribute_number(struct otlp_dictionary *dictionary, const char *key, uint64_t value);

/* The index of the stack of a node. */
uint32_t otlp_stack(struct otlp_dictionary *dictionary, uint32_t node);

/* The set of a set's attributes and another one, or the link of a context; the empty set is 0. */
uint32_t otlp_set_add(struct otlp_dictionary *dictionary, uint32_t set, uint32_t attribute);
uint32_t otlp_set_add_link(struct otlp_dictionary *dictionary, uint32_t set, uint32_t context);

/* Writes a set's attributes and link into a sample. */
void otlp_put_set(struct otlp_dictionary *dictionary, uint32_t set, struct protobuf *sample);

/* Writes a type of values. */
void otlp_put_value_type(struct otlp_dictionary *dictionary, struct protobuf *message,
			 uint32_t field, const char *type, const char *unit);

/* Writes the dictionary, when nothing is added any more. */
void otlp_dictionary_put(struct otlp_dictionary *dictionary, struct protobuf *data);
