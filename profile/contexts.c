/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "profile/contexts.h"

void profile_contexts_init(struct profile_contexts *contexts, struct names *names)
{
	*contexts = (struct profile_contexts){ .names = names };
	pair_map_init(&contexts->by_number, PROFILE_CONTEXTS_MAX);
}

void profile_contexts_deinit(struct profile_contexts *contexts)
{
	free(contexts->list);
	free(contexts->attributes);
	pair_map_deinit(&contexts->by_number);
}

int profile_contexts_add(struct profile_contexts *contexts, const struct wire_trace_context *record)
{
	struct profile_context context = {
		.flags = record->flags,
		.attributes.first = contexts->n_attributes,
	};
	int r;

	if (contexts->n == PROFILE_CONTEXTS_MAX ||
	    pair_map_find(&contexts->by_number, record->number, 0)) {
		contexts->n_refused++;
		return 0;
	}
	static_assert(sizeof(record->trace_id) <= sizeof(context.trace_id), "ids fit");
	memcpy(context.trace_id, record->trace_id, sizeof(record->trace_id));
	memcpy(context.span_id, record->span_id, sizeof(record->span_id));
	r = pair_map_add(&contexts->by_number, record->number, 0, contexts->n);
	return r < 0 ? r : GROWING_LIST_ADD(contexts->list, contexts->n, context);
}

static struct profile_attribute attribute_of(struct profile_contexts *contexts,
					     struct wire_string key, struct wire_string value)
{
	return (struct profile_attribute){
		names_intern(contexts->names, key.data, key.size),
		names_intern(contexts->names, value.data, value.size),
	};
}

static int add(struct profile_contexts *contexts, struct profile_attributes *attributes,
	       struct wire_string key, struct wire_string value)
{
	struct profile_attribute attribute = { 0 };
	int r;

	if (contexts->n_attributes < PROFILE_ATTRIBUTES_MAX)
		attribute = attribute_of(contexts, key, value);
	if (!attribute.key || !attribute.value) {
		contexts->n_refused++;
		return 0;
	}
	r = GROWING_LIST_ADD(contexts->attributes, contexts->n_attributes, attribute);
	attributes->n += r == 0;
	return r;
}

int profile_contexts_add_attribute(struct profile_contexts *contexts,
				   const struct wire_trace_attribute *record)
{
	uint32_t last = profile_contexts_find(contexts, record->trace_context);

	if (!last || last != contexts->n) {
		contexts->n_refused++;
		return 0;
	}
	return add(contexts, &contexts->list[last - 1].attributes, record->key, record->value);
}

int profile_contexts_add_resource(struct profile_contexts *contexts,
				  const struct wire_resource_attribute *record,
				  struct profile_attributes *attributes)
{
	if (!record->number)
		*attributes = (struct profile_attributes){ .first = contexts->n_attributes };
	if (attributes->first + attributes->n != contexts->n_attributes) {
		contexts->n_refused++;
		return 0;
	}
	return add(contexts, attributes, record->key, record->value);
}

uint32_t profile_contexts_find(const struct profile_contexts *contexts, uint64_t number)
{
	const uint64_t *index = number ? pair_map_find(&contexts->by_number, number, 0) : NULL;

	return index ? *index + 1 : 0;
}

bool profile_attributes_have(const struct profile_contexts *contexts, uint32_t first, uint32_t end,
			     uint32_t key)
{
	for (uint32_t i = first; i < end; i++)
		if (contexts->attributes[i].key == key)
			return true;
	return false;
}

uint32_t profile_attribute_find(const struct profile_contexts *contexts,
				struct profile_attributes attributes, const char *key)
{
	for (uint32_t i = attributes.first; i < attributes.first + attributes.n; i++)
		if (!strcmp(names_text(contexts->names, contexts->attributes[i].key), key))
			return contexts->attributes[i].value;
	return 0;
}
