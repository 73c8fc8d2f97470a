/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "common/script/script-place.h"
#include "formats/otlp-dictionary.h"
#include "formats/otlp-fields.h"

#define IS_TEXT (1ULL << 63) /* of a value: it is a name */
#define IS_LINK (1ULL << 63)

enum {
	TRACE_ID_SIZE = 16,
	SPAN_ID_SIZE = 8,
	SETS_MAX = 1 << 24, /* several for each trace context */
};

static int number_links(struct otlp_dictionary *self)
{
	const struct profile_contexts *contexts = &self->profile->contexts;
	uint32_t n = 0;

	self->link_of_context = calloc(contexts->n + 1, sizeof(*self->link_of_context));
	for (size_t i = 0; self->link_of_context && i < contexts->n; i++)
		if (*contexts->list[i].trace_id)
			self->link_of_context[i] = ++n;
	return self->link_of_context ? 0 : -ENOMEM;
}

int otlp_dictionary_init(struct otlp_dictionary *self, const struct profile *profile)
{
	int r;

	*self = (struct otlp_dictionary){ .profile = profile };
	pair_map_init(&self->functions, PROFILE_CALLS_MAX);
	pair_map_init(&self->attributes, PROFILE_CALLS_MAX);
	pair_map_init(&self->mappings, PROFILE_CALLS_MAX);
	pair_map_init(&self->scripts, PROFILE_LOCATIONS_MAX);
	pair_map_init(&self->set_of_last, SETS_MAX);
	self->index_of_location = calloc(profile->n_locations, sizeof(*self->index_of_location));
	self->stack_of_node = calloc(profile->n_nodes, sizeof(*self->stack_of_node));
	r = used_names_init(&self->strings, &profile->stacks->names);
	if (r == 0)
		r = number_links(self);
	return r < 0 || !self->index_of_location || !self->stack_of_node ? -ENOMEM : 0;
}

void otlp_dictionary_deinit(struct otlp_dictionary *self)
{
	struct protobuf *const messages[] = {
		&self->function_table, &self->attribute_table, &self->mapping_table,
		&self->location_table, &self->stack_table,     &self->location,
		&self->mapping,	       &self->inner,	       &self->value,
		&self->list,
	};

	for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++)
		protobuf_deinit(messages[i]);
	pair_map_deinit(&self->functions);
	pair_map_deinit(&self->attributes);
	pair_map_deinit(&self->mappings);
	pair_map_deinit(&self->scripts);
	pair_map_deinit(&self->set_of_last);
	used_names_deinit(&self->strings);
	free(self->sets);
	free(self->index_of_location);
	free(self->stack_of_node);
	free(self->link_of_context);
}

uint32_t otlp_string(struct otlp_dictionary *self, const char *text)
{
	return used_names_index_of_text(&self->strings, text);
}

/* The next index of a table, for a pair that is not in its map yet; 0: there is no room. */
static uint32_t add_pair(struct otlp_dictionary *self, struct pair_map *map, uint64_t a, uint64_t b)
{
	if (pair_map_add(map, a, b, map->n + 1) == 0)
		return map->n;
	self->has_failed = true;
	return 0;
}

static uint32_t find_attribute(struct otlp_dictionary *self, const char *key, uint64_t value)
{
	uint32_t key_index = otlp_string(self, key), index;
	uint64_t *known = pair_map_find(&self->attributes, key_index, value);

	if (known)
		return *known;
	index = add_pair(self, &self->attributes, key_index, value);
	if (!index)
		return 0;
	protobuf_reset(&self->value);
	if (value & IS_TEXT) {
		const char *text = profile_text(self->profile, value);

		/* Even an empty one: the member of this oneof must be present. */
		protobuf_put_element(&self->value, ANY_VALUE_STRING, text, strlen(text));
	} else {
		protobuf_put_present_uint(&self->value, ANY_VALUE_INT, value);
	}
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, ATTRIBUTE_KEY, key_index);
	protobuf_put_message(&self->inner, ATTRIBUTE_VALUE, &self->value);
	protobuf_put_message(&self->attribute_table, DICTIONARY_ATTRIBUTES, &self->inner);
	return index;
}

uint32_t otlp_attribute_text(struct otlp_dictionary *self, const char *key, uint32_t name)
{
	return find_attribute(self, key, IS_TEXT | name);
}

/* Clamps the value to the format's int64. */
uint32_t otlp_attribute_number(struct otlp_dictionary *self, const char *key, uint64_t value)
{
	return find_attribute(self, key, value < IS_TEXT ? value : IS_TEXT - 1);
}

static uint32_t find_function(struct otlp_dictionary *self, const struct profile_call *call)
{
	uint64_t *known = pair_map_find(&self->functions, call->name, call->line.file);
	uint32_t index;

	if (known)
		return *known;
	index = add_pair(self, &self->functions, call->name, call->line.file);
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, FUNCTION_NAME,
			  used_names_index(&self->strings, call->name));
	protobuf_put_uint(&self->inner, FUNCTION_FILENAME,
			  used_names_index(&self->strings, call->line.file));
	protobuf_put_message(&self->function_table, DICTIONARY_FUNCTIONS, &self->inner);
	return index;
}

/* Adds an attribute to the list, unless its value is not known. */
static void list_text(struct otlp_dictionary *self, const char *key, uint32_t name)
{
	if (name)
		protobuf_add_uint(&self->list, otlp_attribute_text(self, key, name));
}

/* The mapping of a location, in a segment of its module; NULL: the segment is not known. */
static uint32_t find_mapping(struct otlp_dictionary *self, const struct profile_location *location,
			     const struct image_segment *segment)
{
	const struct profile_module *module = &self->profile->modules[location->module];
	uint32_t id = module->file_id ? module->file_id : module->build_id;
	/* One for all images with the same: anonymous memory of each process is one. */
	uint64_t file = (uint64_t)module->path << 32 | (segment ? id : 0);
	uint64_t where = segment ? segment->address + 1 : 0;
	uint64_t *known = pair_map_find(&self->mappings, file, where);
	uint32_t index;

	if (known)
		return *known;
	index = add_pair(self, &self->mappings, file, where);
	protobuf_reset(&self->mapping);
	protobuf_reset(&self->list);
	if (segment) {
		protobuf_put_uint(&self->mapping, MAPPING_START, segment->address);
		protobuf_put_uint(&self->mapping, MAPPING_LIMIT, segment->address + segment->size);
		protobuf_put_uint(&self->mapping, MAPPING_OFFSET, segment->offset);
	}
	protobuf_put_uint(&self->mapping, MAPPING_FILENAME,
			  used_names_index(&self->strings, module->path));
	if (segment || location->kind == PROFILE_KERNEL) {
		list_text(self, "process.executable.build_id.gnu", module->build_id);
		list_text(self, "process.executable.build_id.go", module->go_build_id);
		list_text(self, "process.executable.build_id.htlhash", module->file_id);
	}
	protobuf_put_packed(&self->mapping, MAPPING_ATTRIBUTES, &self->list);
	protobuf_put_message(&self->mapping_table, DICTIONARY_MAPPINGS, &self->mapping);
	return index;
}

/* NULL: not known. */
static const struct image_segment *segment_of(const struct profile_module *module, uint64_t offset)
{
	for (size_t i = 0; i < module->n_segments; i++)
		if (offset >= module->segments[i].offset &&
		    offset - module->segments[i].offset < module->segments[i].size)
			return &module->segments[i];
	return NULL;
}

/* A name of the semantic conventions. */
static uint32_t frame_type(const struct otlp_dictionary *self,
			   const struct profile_location *location)
{
	struct names *names = &self->profile->stacks->names;
	const char *type = location->kind == PROFILE_KERNEL ? "kernel" : "native";
	const char *name = names_text(names, self->profile->modules[location->module].language);
	enum script_language language = script_language_of_name(name, strlen(name));

	if (language < SCRIPT_LANGUAGES_MAX)
		type = script_frame_type(language);
	return names_intern(names, type, strlen(type));
}

/* Where the code is. Code of a script has no address. */
static void put_place(struct otlp_dictionary *self, const struct profile_location *location)
{
	const struct profile_module *module = &self->profile->modules[location->module];
	const struct image_segment *segment = segment_of(module, location->offset);

	if (location->module)
		protobuf_put_uint(&self->location, LOCATION_MAPPING,
				  find_mapping(self, location, segment));
	if (location->kind != PROFILE_SCRIPT)
		protobuf_put_uint(&self->location, LOCATION_ADDRESS,
				  segment ? segment->address + location->offset - segment->offset
					  : location->offset);
	protobuf_reset(&self->list);
	list_text(self, "profile.frame.type", frame_type(self, location));
	protobuf_put_packed(&self->location, LOCATION_ATTRIBUTES, &self->list);
}

static void put_lines(struct otlp_dictionary *self, const struct profile_location *location)
{
	for (uint32_t i = location->n_calls; i-- > 0;) { /* the innermost first */
		const struct profile_call *call = &self->profile->calls[location->first_call + i];
		uint32_t function = find_function(self, call);

		protobuf_reset(&self->inner);
		protobuf_put_uint(&self->inner, LINE_FUNCTION, function);
		protobuf_put_uint(&self->inner, LINE_LINE, call->line.line);
		protobuf_put_message(&self->location, LOCATION_LINES, &self->inner);
	}
}

/* Code of JIT compilers gets its name, or none, only at the end of a recording. */
static bool has_name(const struct otlp_dictionary *self, const struct profile_location *location)
{
	return !location->is_unnamed &&
	       strcmp(profile_text(self->profile, self->profile->calls[location->first_call].name),
		      NAMES_UNKNOWN) != 0;
}

/*
 * The index of a location of a script, where other instructions of the same line may have come
 * before; NULL: it is none, or has inlined calls.
 */
static uint64_t *find_script(struct otlp_dictionary *self, const struct profile_location *location)
{
	const struct profile_call *call = &self->profile->calls[location->first_call];
	uint64_t line, mapping, *known;

	if (location->kind != PROFILE_SCRIPT || location->n_calls != 1)
		return NULL;
	line = (uint64_t)find_function(self, call) << 32 | call->line.line;
	mapping = find_mapping(self, location, NULL);
	known = pair_map_find(&self->scripts, line, mapping);
	if (known)
		return known;
	if (pair_map_add(&self->scripts, line, mapping, 0) < 0)
		self->has_failed = true;
	return pair_map_find(&self->scripts, line, mapping);
}

static uint32_t find_location(struct otlp_dictionary *self, uint32_t number)
{
	const struct profile_location *location = &self->profile->locations[number];
	uint32_t *index = &self->index_of_location[number];
	bool is_named = has_name(self, location);
	uint64_t *of_script;

	if (*index)
		return *index;
	of_script = is_named ? find_script(self, location) : NULL;
	if (of_script && *of_script)
		return *index = *of_script;
	protobuf_reset(&self->location);
	if (location->kind != PROFILE_CUT)
		put_place(self, location);
	if (is_named)
		put_lines(self, location);
	protobuf_put_message(&self->location_table, DICTIONARY_LOCATIONS, &self->location);
	*index = ++self->n_locations;
	if (of_script)
		*of_script = *index;
	return *index;
}

uint32_t otlp_stack(struct otlp_dictionary *self, uint32_t node)
{
	const struct node *nodes = self->profile->nodes;

	if (!node || self->stack_of_node[node])
		return self->stack_of_node[node];
	for (uint32_t at = node; at; at = nodes[at].parent)
		find_location(self, nodes[at].location);
	protobuf_reset(&self->list);
	for (uint32_t at = node; at; at = nodes[at].parent) /* leaf first */
		protobuf_add_uint(&self->list, find_location(self, nodes[at].location));
	protobuf_reset(&self->inner);
	protobuf_put_packed(&self->inner, STACK_LOCATIONS, &self->list);
	protobuf_put_message(&self->stack_table, DICTIONARY_STACKS, &self->inner);
	return self->stack_of_node[node] = ++self->n_stacks;
}

/* The set of another one and what comes last. */
static uint32_t find_set(struct otlp_dictionary *self, uint64_t last, struct otlp_set set)
{
	uint64_t *known = pair_map_find(&self->set_of_last, set.before, last);

	if (known)
		return *known;
	if (GROWING_LIST_ADD(self->sets, self->n_sets, set) == 0 &&
	    pair_map_add(&self->set_of_last, set.before, last, self->n_sets) == 0)
		return self->n_sets;
	self->has_failed = true;
	return 0;
}

uint32_t otlp_set_add(struct otlp_dictionary *self, uint32_t set, uint32_t attribute)
{
	return find_set(self, attribute, (struct otlp_set){ set, .attribute = attribute });
}

uint32_t otlp_set_add_link(struct otlp_dictionary *self, uint32_t set, uint32_t context)
{
	uint32_t link = context ? self->link_of_context[context - 1] : 0;

	return link ? find_set(self, IS_LINK | link, (struct otlp_set){ set, .link = link }) : set;
}

void otlp_put_set(struct otlp_dictionary *self, uint32_t set, struct protobuf *sample)
{
	protobuf_reset(&self->list);
	for (uint32_t at = set; at; at = self->sets[at - 1].before) {
		const struct otlp_set *each = &self->sets[at - 1];

		if (each->link)
			protobuf_put_uint(sample, SAMPLE_LINK, each->link);
		else
			protobuf_add_uint(&self->list, each->attribute);
	}
	protobuf_put_packed(sample, SAMPLE_ATTRIBUTES, &self->list);
}

void otlp_put_value_type(struct otlp_dictionary *self, struct protobuf *message, uint32_t field,
			 const char *type, const char *unit)
{
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, VALUE_TYPE_TYPE, otlp_string(self, type));
	protobuf_put_uint(&self->inner, VALUE_TYPE_UNIT, otlp_string(self, unit));
	protobuf_put_message(message, field, &self->inner);
}

/* The bytes of an id of hexadecimal digits. */
static void put_id(struct protobuf *message, uint32_t field, const char *digits, size_t size)
{
	uint8_t bytes[TRACE_ID_SIZE] = { 0 };

	for (size_t i = 0; i < size && digits[2 * i]; i++)
		sscanf(digits + 2 * i, "%2hhx", &bytes[i]);
	protobuf_put_bytes(message, field, bytes, size);
}

/* Samples refer to them by their order here. */
static void put_links(struct otlp_dictionary *self, struct protobuf *dictionary)
{
	const struct profile_contexts *contexts = &self->profile->contexts;

	protobuf_put_element(dictionary, DICTIONARY_LINKS, NULL, 0);
	for (size_t i = 0; i < contexts->n; i++) {
		if (!self->link_of_context[i])
			continue;
		protobuf_reset(&self->inner);
		put_id(&self->inner, LINK_TRACE_ID, contexts->list[i].trace_id, TRACE_ID_SIZE);
		put_id(&self->inner, LINK_SPAN_ID, contexts->list[i].span_id, SPAN_ID_SIZE);
		protobuf_put_message(dictionary, DICTIONARY_LINKS, &self->inner);
	}
}

static void put_strings(struct otlp_dictionary *self, struct protobuf *dictionary)
{
	for (size_t i = 0; i < self->strings.n; i++) {
		const char *text = used_names_text(&self->strings, i);

		protobuf_put_element(dictionary, DICTIONARY_STRINGS, text, strlen(text));
	}
}

/* Appends a table with its null entry first; the table's fields are the dictionary's. */
static void append_table(struct protobuf *dictionary, uint32_t field, const struct protobuf *table)
{
	protobuf_put_element(dictionary, field, NULL, 0);
	protobuf_append(dictionary, table);
}

void otlp_dictionary_put(struct otlp_dictionary *self, struct protobuf *data)
{
	struct protobuf dictionary = { 0 };

	append_table(&dictionary, DICTIONARY_MAPPINGS, &self->mapping_table);
	append_table(&dictionary, DICTIONARY_LOCATIONS, &self->location_table);
	append_table(&dictionary, DICTIONARY_FUNCTIONS, &self->function_table);
	put_links(self, &dictionary);
	append_table(&dictionary, DICTIONARY_ATTRIBUTES, &self->attribute_table);
	append_table(&dictionary, DICTIONARY_STACKS, &self->stack_table);
	put_strings(self, &dictionary);
	self->has_failed |= self->strings.has_failed | dictionary.has_failed;
	protobuf_put_message(data, DATA_DICTIONARY, &dictionary);
	protobuf_deinit(&dictionary);
}
