/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The trace contexts of a recording's samples, and the attributes of its processes' resources: what
 * programs publish about themselves (OTEP 4719, OTEP 4947).
 */
#pragma once

#include "common/base/pair-map.h"
#include "profile/names/names.h"

enum {
	PROFILE_CONTEXTS_MAX = 1 << 20,	  /* samples of further ones have none */
	PROFILE_ATTRIBUTES_MAX = 1 << 19, /* so that they take a part of all names only */
	PROFILE_KEYS_MAX = 1024, /* that are compared with each other, of one context or resource */
	PROFILE_ID_SIZE = 40,
};

/* A name and its value; both are numbers of names. */
struct profile_attribute {
	uint32_t key, value;
};

/* Some of the list of all attributes. */
struct profile_attributes {
	uint32_t first, n;
};

struct profile_context {
	char trace_id[PROFILE_ID_SIZE], span_id[PROFILE_ID_SIZE]; /* hexadecimal; empty: none */
	uint32_t flags;						  /* of the W3C's Trace Context */
	struct profile_attributes attributes;
};

struct profile_contexts {
	struct names *names; /* borrowed */
	struct profile_context *list;
	struct profile_attribute *attributes;
	size_t n, n_attributes;
	struct pair_map by_number;
	uint64_t n_refused;
};

void profile_contexts_init(struct profile_contexts *contexts, struct names *names);
void profile_contexts_deinit(struct profile_contexts *contexts);

/* Each adds a record. An attribute is of the context that was added last. 0 or -ENOMEM. */
int profile_contexts_add(struct profile_contexts *contexts,
			 const struct wire_trace_context *record);
int profile_contexts_add_attribute(struct profile_contexts *contexts,
				   const struct wire_trace_attribute *record);

/* Adds an attribute of a resource to others, which it replaces if it is the first. 0 or -ENOMEM. */
int profile_contexts_add_resource(struct profile_contexts *contexts,
				  const struct wire_resource_attribute *record,
				  struct profile_attributes *attributes);

/* The index + 1 of the context with a number; 0: none. */
uint32_t profile_contexts_find(const struct profile_contexts *contexts, uint64_t number);

/* Whether a key is among the attributes from `first` on, before `end`: programs may publish it
 * twice. */
bool profile_attributes_have(const struct profile_contexts *contexts, uint32_t first, uint32_t end,
			     uint32_t key);

/* The value of an attribute, as a name; 0: it is not among them. */
uint32_t profile_attribute_find(const struct profile_contexts *contexts,
				struct profile_attributes attributes, const char *key);
