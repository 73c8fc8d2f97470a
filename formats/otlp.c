/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenTelemetry profiles (opentelemetry-proto 1.11.0, opentelemetry/proto/profiles/v1development):
 * one ProfilesData, as in the body of an OTLP request. Each sample keeps its time. The first entry
 * of each table of the dictionary is the null entry.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/sum.h"
#include "common/script/script-place.h"
#include "formats/format.h"
#include "formats/output-stream.h"
#include "formats/protobuf.h"
#include "profile/groups.h"
#include "profile/names/used-names.h"
#include "profile/wait-reasons.h"

enum data_field { DATA_RESOURCE_PROFILES = 1, DATA_DICTIONARY = 2 };
enum resource_profiles_field { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPE = 2 };
enum resource_field { RESOURCE_ATTRIBUTES = 1 };
enum scope_profiles_field { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILES = 2 };
enum scope_field { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ATTRIBUTE_INDICES = 11,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field {
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_LINK = 3,
	SAMPLE_VALUES = 4,
	SAMPLE_TIMESTAMPS = 5
};
enum dictionary_field {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS = 2,
	DICTIONARY_FUNCTIONS = 3,
	DICTIONARY_LINKS = 4,
	DICTIONARY_STRINGS = 5,
	DICTIONARY_ATTRIBUTES = 6,
	DICTIONARY_STACKS = 7,
};
enum mapping_field { MAPPING_LIMIT = 2, MAPPING_FILENAME = 4, MAPPING_ATTRIBUTES = 5 };
enum location_field {
	LOCATION_MAPPING = 1,
	LOCATION_ADDRESS = 2,
	LOCATION_LINES = 3,
	LOCATION_ATTRIBUTES = 4,
};
enum line_field { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum function_field { FUNCTION_NAME = 1, FUNCTION_FILENAME = 3 };
enum stack_field { STACK_LOCATIONS = 1 };
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
enum key_value_field { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum any_value_field { ANY_VALUE_STRING = 1, ANY_VALUE_INT = 3 };
enum link_field { LINK_TRACE_ID = 1, LINK_SPAN_ID = 2 };
enum { TRACE_ID_SIZE = 16, SPAN_ID_SIZE = 8 };

struct otlp_writer {
	const struct export *export;
	const struct profile *profile;
	struct profile_groups groups;
	struct wait_reasons reasons;
	const struct profile_process *resource; /* a process of the one being written */
	struct view views[VIEWS_MAX];		/* each becomes a profile */
	uint64_t sums[VIEWS_MAX];		/* of what was written in each */
	size_t n_views;
	bool has_totals;
	struct used_names strings;
	struct pair_map functions;  /* (name, file) → index */
	struct pair_map attributes; /* (key, number or name | IS_TEXT) → index */
	uint32_t *stack_of_node;    /* 0: none yet */
	uint32_t n_stacks;
	uint32_t *link_of_context;				      /* by index; 0: no trace */
	struct protobuf function_table, attribute_table, stack_table; /* grown on demand */
	struct protobuf samples, message, inner, value, list;
	bool has_failed;
};

#define IS_TEXT (1ULL << 63)

/* Writes the value even if it is empty: the member of this oneof must be present. */
static void put_string_value(struct otlp_writer *self, const char *text)
{
	protobuf_put_element(&self->value, ANY_VALUE_STRING, text, strlen(text));
}

/* The index of an attribute; `value` is a number, or a name | IS_TEXT. */
static uint64_t find_attribute(struct otlp_writer *self, const char *key, uint64_t value)
{
	uint32_t key_index = used_names_index_of_text(&self->strings, key);
	uint64_t *known = pair_map_find(&self->attributes, key_index, value);

	if (known)
		return *known;
	if (pair_map_add(&self->attributes, key_index, value, self->attributes.n + 1) < 0) {
		self->has_failed = true;
		return 0;
	}
	protobuf_reset(&self->value);
	if (value & IS_TEXT)
		put_string_value(self, profile_text(self->profile, value));
	else
		protobuf_put_present_uint(&self->value, ANY_VALUE_INT, value);
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, ATTRIBUTE_KEY, key_index);
	protobuf_put_message(&self->inner, ATTRIBUTE_VALUE, &self->value);
	protobuf_put_message(&self->attribute_table, DICTIONARY_ATTRIBUTES, &self->inner);
	return self->attributes.n;
}

/* For numbers: clamps the value to the format's int64. */
static uint64_t find_number(struct otlp_writer *self, const char *key, uint64_t value)
{
	return find_attribute(self, key, value < IS_TEXT ? value : IS_TEXT - 1);
}

static uint64_t find_function(struct otlp_writer *self, const struct profile_call *call)
{
	uint64_t *known = pair_map_find(&self->functions, call->name, call->line.file);

	if (known)
		return *known;
	if (pair_map_add(&self->functions, call->name, call->line.file, self->functions.n + 1) <
	    0) {
		self->has_failed = true;
		return 0;
	}
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, FUNCTION_NAME,
			  used_names_index(&self->strings, call->name));
	protobuf_put_uint(&self->inner, FUNCTION_FILENAME,
			  used_names_index(&self->strings, call->line.file));
	protobuf_put_message(&self->function_table, DICTIONARY_FUNCTIONS, &self->inner);
	return self->functions.n;
}

static uint32_t find_stack(struct otlp_writer *self, uint32_t node)
{
	if (!node || self->stack_of_node[node])
		return self->stack_of_node[node];
	protobuf_reset(&self->list);
	for (uint32_t at = node; at; at = self->profile->nodes[at].parent) /* leaf first */
		protobuf_add_uint(&self->list, self->profile->nodes[at].location);
	protobuf_reset(&self->inner);
	protobuf_put_packed(&self->inner, STACK_LOCATIONS, &self->list);
	protobuf_put_message(&self->stack_table, DICTIONARY_STACKS, &self->inner);
	return self->stack_of_node[node] = ++self->n_stacks;
}

/* The reason of a wait, and the thread that ended it. */
static void add_wait_attributes(struct otlp_writer *self, const struct profile_sample *sample)
{
	const struct profile_thread *waker = wait_waker(self->profile, sample);
	uint32_t reason = wait_reason(&self->reasons, sample);

	if (reason)
		protobuf_add_uint(&self->list,
				  find_attribute(self, "stackpipe.wait", IS_TEXT | reason));
	if (!waker)
		return;
	protobuf_add_uint(&self->list,
			  find_attribute(self, "stackpipe.waker.name", IS_TEXT | waker->name));
	protobuf_add_uint(&self->list, find_number(self, "stackpipe.waker.id", waker->tid));
}

/* Keys of a list must be unique: what the kernel reports of a thread counts. */
static bool is_ours(const char *key)
{
	static const char *const ours[] = { "process.pid", "process.executable.name", "thread.id",
					    "thread.name" };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!strcmp(key, ours[i]))
			return true;
	return !strncmp(key, "stackpipe.", strlen("stackpipe."));
}

static void add_attributes(struct otlp_writer *self, struct profile_attributes attributes)
{
	for (uint32_t i = attributes.first; i < attributes.first + attributes.n; i++) {
		const struct profile_attribute *attribute = &self->profile->contexts.attributes[i];

		const char *key = profile_text(self->profile, attribute->key);

		if (!is_ours(key))
			protobuf_add_uint(&self->list,
					  find_attribute(self, key, IS_TEXT | attribute->value));
	}
}

static void put_attributes(struct otlp_writer *self, const struct profile_sample *sample)
{
	const struct profile_thread *thread = &self->profile->threads[sample->thread];
	const struct profile_process *process = &self->profile->processes[thread->process];

	protobuf_reset(&self->list);
	protobuf_add_uint(&self->list, find_number(self, "process.pid", process->pid));
	protobuf_add_uint(&self->list,
			  find_attribute(self, "process.executable.name", IS_TEXT | process->name));
	protobuf_add_uint(&self->list, find_number(self, "thread.id", thread->tid));
	protobuf_add_uint(&self->list, find_attribute(self, "thread.name", IS_TEXT | thread->name));
	add_wait_attributes(self, sample);
	if (sample->context)
		add_attributes(self, self->profile->contexts.list[sample->context - 1].attributes);
	protobuf_put_packed(&self->message, SAMPLE_ATTRIBUTES, &self->list);
	if (sample->context)
		protobuf_put_uint(&self->message, SAMPLE_LINK,
				  self->link_of_context[sample->context - 1]);
}

/* The time of a sample since 1970, if the stream has a start time. */
static uint64_t unix_time(const struct otlp_writer *self, uint64_t time)
{
	const struct wire_hello *hello = &self->profile->stacks->hello;

	return time - hello->start_time + hello->start_unix_time;
}

/* Writes the amounts of samples that do not all count 1. */
static void put_values(struct otlp_writer *self, const struct profile_group *group,
		       struct view view)
{
	protobuf_reset(&self->list);
	for (size_t i = 0; i < group->n; i++) {
		uint32_t number = self->groups.order[group->first + i];
		uint64_t n = profile_amount(self->profile, view, &self->profile->samples[number]);

		if (n)
			protobuf_add_uint(&self->list, n);
	}
	protobuf_put_packed(&self->message, SAMPLE_VALUES, &self->list);
}

/* Processes of one resource have the same control group, and have published the same, or nothing.
 */
static bool is_of_resource(const struct otlp_writer *self, const struct profile_process *process)
{
	const struct profile_attributes *wanted = &self->resource->resource;

	return process->cgroup == self->resource->cgroup && process->resource.n == wanted->n &&
	       (!wanted->n || process->resource.first == wanted->first);
}

/* Writes the samples of a group that are in a view: one for each time. */
static void put_sample(struct otlp_writer *self, const struct profile_group *group,
		       size_t view_number)
{
	uint32_t stack, process = self->profile->threads[group->thread].process;
	struct view view = self->views[view_number];
	uint64_t sum = profile_group_amount(&self->groups, self->profile, group, view);

	if (!is_of_resource(self, &self->profile->processes[process]) || !sum)
		return;
	sum_add(&self->sums[view_number], sum);
	stack = find_stack(self, group->node);
	protobuf_reset(&self->message);
	protobuf_put_uint(&self->message, SAMPLE_STACK, stack);
	put_attributes(self, profile_group_sample(&self->groups, self->profile, group));
	if (view.kind != VIEW_SAMPLES || self->profile->has_repeats)
		put_values(self, group, view);
	protobuf_reset(&self->list);
	for (size_t i = 0; i < group->n; i++) {
		uint32_t number = self->groups.order[group->first + i];
		const struct profile_sample *sample = &self->profile->samples[number];

		if (profile_amount(self->profile, view, sample))
			protobuf_add_fixed64(&self->list, unix_time(self, sample->time));
	}
	protobuf_put_packed(&self->message, SAMPLE_TIMESTAMPS, &self->list);
	protobuf_put_message(&self->samples, PROFILE_SAMPLES, &self->message);
}

static void put_value_type(struct otlp_writer *self, struct protobuf *message, uint32_t field,
			   const char *type, const char *unit)
{
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, VALUE_TYPE_TYPE,
			  used_names_index_of_text(&self->strings, type));
	protobuf_put_uint(&self->inner, VALUE_TYPE_UNIT,
			  used_names_index_of_text(&self->strings, unit));
	protobuf_put_message(message, field, &self->inner);
}

/* Writes losses and end reasons as attributes of the profile. */
static void put_totals(struct otlp_writer *self, struct protobuf *profile)
{
	const struct stacks *stacks = self->profile->stacks;
	struct protobuf indices = { 0 };
	char key[64];

	protobuf_add_uint(&indices, find_number(self, "stackpipe.lost", stacks->n_lost));
	protobuf_add_uint(&indices, find_number(self, "stackpipe.left-out", stacks->n_skipped));
	protobuf_add_uint(&indices,
			  find_number(self, "stackpipe.incomplete", !self->export->is_whole));
	for (uint32_t i = 0; i < STACKS_ENDS; i++) {
		const char *name = stacks_end_name(i);

		if (!stacks->n_ends[i])
			continue;
		snprintf(key, sizeof(key), "stackpipe.%s", name);
		protobuf_add_uint(&indices, find_number(self, key, stacks->n_ends[i]));
	}
	protobuf_put_bytes(profile, PROFILE_ATTRIBUTE_INDICES, indices.data, indices.size);
	self->has_failed |= indices.has_failed;
	protobuf_deinit(&indices);
}

static void put_profile(struct otlp_writer *self, struct protobuf *scope, size_t number)
{
	const struct stacks *stacks = self->profile->stacks;
	struct view view = self->views[number];
	bool is_clock = event_is_time(&stacks->events.list[0]);

	protobuf_reset(&self->samples);
	for (size_t i = 0; i < self->groups.n; i++)
		put_sample(self, &self->groups.list[i], number);
	put_value_type(self, &self->samples, PROFILE_SAMPLE_TYPE, view_name(&stacks->events, view),
		       view_is_time(&stacks->events, view) ? "nanoseconds" : "count");
	protobuf_put_fixed64(&self->samples, PROFILE_TIME, stacks->hello.start_unix_time);
	protobuf_put_uint(&self->samples, PROFILE_DURATION,
			  stacks->last_time - stacks->hello.start_time);
	put_value_type(self, &self->samples, PROFILE_PERIOD_TYPE,
		       is_clock ? "cpu" : stacks->hello.event, is_clock ? "nanoseconds" : "count");
	if (is_clock && stacks->hello.rate)
		protobuf_put_uint(&self->samples, PROFILE_PERIOD,
				  NANOSECONDS_A_SECOND / stacks->hello.rate);
	if (!self->has_totals) /* only once: they are sums of all resources */
		put_totals(self, &self->samples);
	self->has_totals = true;
	protobuf_put_message(scope, SCOPE_PROFILES_PROFILES, &self->samples);
}

/* Writes a profile for each view, because profiles have one type of value. */
static void put_profiles(struct otlp_writer *self, struct protobuf *scope)
{
	for (size_t i = 0; i < self->n_views; i++)
		put_profile(self, scope, i);
}

static void choose_views(struct otlp_writer *self)
{
	const struct events *events = &self->profile->stacks->events;
	size_t n = events_views(events, self->views);

	self->n_views = events->n > 1 ? n : 1;
}

static int check_sums(const struct otlp_writer *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_views && r == 0; i++)
		r = profile_check_sum(self->profile, self->views[i], self->sums[i]);
	return r;
}

/* Skips an empty value. */
static void add_resource_attribute(struct otlp_writer *self, const char *key, const char *value)
{
	if (!*value)
		return;
	protobuf_reset(&self->value);
	put_string_value(self, value);
	protobuf_reset(&self->inner);
	protobuf_put_text(&self->inner, KEY_VALUE_KEY, key);
	protobuf_put_message(&self->inner, KEY_VALUE_VALUE, &self->value);
	protobuf_put_message(&self->message, RESOURCE_ATTRIBUTES, &self->inner);
}

/* Writes what the process has published of its resource. */
static void add_published(struct otlp_writer *self, const struct profile_process *process)
{
	for (uint32_t i = 0; i < process->resource.n; i++) {
		const struct profile_attribute *attribute =
			&self->profile->contexts.attributes[process->resource.first + i];

		add_resource_attribute(self, profile_text(self->profile, attribute->key),
				       profile_text(self->profile, attribute->value));
	}
}

/* What we know, unless the process has published it. */
static void add_known(struct otlp_writer *self, const struct profile_process *process,
		      const char *key, const char *value)
{
	if (!profile_attribute_find(&self->profile->contexts, process->resource, key))
		add_resource_attribute(self, key, value);
}

/* Writes the host, what the process has published, and its container, unit and cgroup if known. */
static void put_resource(struct otlp_writer *self, const struct profile_process *process,
			 struct protobuf *resource_profiles)
{
	protobuf_reset(&self->message);
	add_published(self, process);
	add_known(self, process, "host.name", self->profile->stacks->hello.host);
	add_known(self, process, "container.id", profile_text(self->profile, process->container));
	add_known(self, process, "systemd.unit", profile_text(self->profile, process->unit));
	add_known(self, process, "process.linux.cgroup",
		  profile_text(self->profile, process->cgroup));
	protobuf_put_message(resource_profiles, RESOURCE_PROFILES_RESOURCE, &self->message);
}

static void put_resource_profiles(struct otlp_writer *self, const struct profile_process *process,
				  struct protobuf *data)
{
	struct protobuf resource_profiles = { 0 }, scope_profiles = { 0 };

	put_resource(self, process, &resource_profiles);
	protobuf_reset(&self->inner);
	protobuf_put_text(&self->inner, SCOPE_NAME, "stackpipe");
	protobuf_put_text(&self->inner, SCOPE_VERSION, STACKPIPE_VERSION);
	protobuf_put_message(&scope_profiles, SCOPE_PROFILES_SCOPE, &self->inner);
	put_profiles(self, &scope_profiles);
	protobuf_put_message(&resource_profiles, RESOURCE_PROFILES_SCOPE, &scope_profiles);
	protobuf_put_message(data, DATA_RESOURCE_PROFILES, &resource_profiles);
	protobuf_deinit(&resource_profiles);
	protobuf_deinit(&scope_profiles);
}

/*
 * Writes a resource for each process that has published one, and for each cgroup; one for
 * everything if neither is known.
 */
static int put_resources(struct otlp_writer *self, struct protobuf *data)
{
	const struct profile *profile = self->profile;
	struct pair_map known;
	int r = 0;

	pair_map_init(&known, profile->n_processes + 1);
	for (size_t i = 0; (i < profile->n_processes || i == 0) && r == 0; i++) {
		const struct profile_process none = { 0 };
		const struct profile_process *process =
			profile->n_processes ? &profile->processes[i] : &none;

		uint64_t published = process->resource.n ? process->resource.first + 1 : 0;

		self->resource = process;
		if (pair_map_find(&known, process->cgroup, published))
			continue;
		r = pair_map_add(&known, process->cgroup, published, 1);
		put_resource_profiles(self, process, data);
	}
	pair_map_deinit(&known);
	return r;
}

static void put_mappings(struct otlp_writer *self, struct protobuf *dictionary)
{
	const struct profile *profile = self->profile;

	protobuf_put_element(dictionary, DICTIONARY_MAPPINGS, NULL, 0);
	for (size_t i = 1; i < profile->n_modules; i++) {
		const struct profile_module *module = &profile->modules[i];
		uint64_t build_id =
			module->build_id ? find_attribute(self, "process.executable.build_id.gnu",
							  IS_TEXT | module->build_id)
					 : 0;

		protobuf_reset(&self->message);
		protobuf_put_uint(&self->message, MAPPING_LIMIT, UINT64_MAX);
		protobuf_put_uint(&self->message, MAPPING_FILENAME,
				  used_names_index(&self->strings, module->path));
		if (build_id) {
			protobuf_reset(&self->list);
			protobuf_add_uint(&self->list, build_id);
			protobuf_put_packed(&self->message, MAPPING_ATTRIBUTES, &self->list);
		}
		protobuf_put_message(dictionary, DICTIONARY_MAPPINGS, &self->message);
	}
}

/* A name of the semantic conventions. */
static uint32_t frame_type(struct profile *profile, const struct profile_location *location)
{
	const char *type = location->kind == PROFILE_KERNEL ? "kernel" : "native";
	const char *name =
		names_text(&profile->stacks->names, profile->modules[location->module].language);
	enum script_language language = script_language_of_name(name, strlen(name));

	if (language < SCRIPT_LANGUAGES_MAX)
		type = script_frame_type(language);
	return names_intern(&profile->stacks->names, type, strlen(type));
}

static void put_location(struct otlp_writer *self, struct protobuf *dictionary,
			 const struct profile_location *location)
{
	struct profile *profile = (void *)self->profile;

	protobuf_reset(&self->message);
	protobuf_put_uint(&self->message, LOCATION_MAPPING, location->module);
	if (location->kind != PROFILE_CUT)
		protobuf_put_uint(&self->message, LOCATION_ADDRESS, location->offset);
	for (uint32_t i = location->n_calls; i-- > 0;) { /* the innermost first */
		const struct profile_call *call = &profile->calls[location->first_call + i];
		uint64_t function = find_function(self, call);

		protobuf_reset(&self->inner);
		protobuf_put_uint(&self->inner, LINE_FUNCTION, function);
		protobuf_put_uint(&self->inner, LINE_LINE, call->line.line);
		protobuf_put_message(&self->message, LOCATION_LINES, &self->inner);
	}
	if (location->kind != PROFILE_CUT) {
		uint32_t name = frame_type(profile, location);

		protobuf_reset(&self->list);
		protobuf_add_uint(&self->list,
				  find_attribute(self, "profile.frame.type", IS_TEXT | name));
		protobuf_put_packed(&self->message, LOCATION_ATTRIBUTES, &self->list);
	}
	protobuf_put_message(dictionary, DICTIONARY_LOCATIONS, &self->message);
}

/* The bytes of an id of hexadecimal digits; all zero: it is empty. */
static void put_id(struct otlp_writer *self, uint32_t field, const char *digits, size_t size)
{
	uint8_t bytes[TRACE_ID_SIZE] = { 0 };

	for (size_t i = 0; i < size && digits[2 * i]; i++)
		sscanf(digits + 2 * i, "%2hhx", &bytes[i]);
	protobuf_put_bytes(&self->message, field, bytes, size);
}

static void put_link(struct otlp_writer *self, struct protobuf *dictionary, const char *trace,
		     const char *span)
{
	protobuf_reset(&self->message);
	put_id(self, LINK_TRACE_ID, trace, TRACE_ID_SIZE);
	put_id(self, LINK_SPAN_ID, span, SPAN_ID_SIZE);
	protobuf_put_message(dictionary, DICTIONARY_LINKS, &self->message);
}

/* The first means none. Samples refer to them by their order here. */
static void put_links(struct otlp_writer *self, struct protobuf *dictionary)
{
	const struct profile_contexts *contexts = &self->profile->contexts;

	put_link(self, dictionary, "", "");
	for (size_t i = 0; i < contexts->n; i++)
		if (self->link_of_context[i])
			put_link(self, dictionary, contexts->list[i].trace_id,
				 contexts->list[i].span_id);
}

static int number_links(struct otlp_writer *self)
{
	const struct profile_contexts *contexts = &self->profile->contexts;
	uint32_t n = 0;

	self->link_of_context = calloc(contexts->n + 1, sizeof(*self->link_of_context));
	for (size_t i = 0; self->link_of_context && i < contexts->n; i++)
		if (*contexts->list[i].trace_id)
			self->link_of_context[i] = ++n;
	return self->link_of_context ? 0 : -ENOMEM;
}

/* Appends a table with its null entry first; the table's fields are the dictionary's. */
static void append_table(struct protobuf *dictionary, uint32_t field, const struct protobuf *table)
{
	protobuf_put_element(dictionary, field, NULL, 0);
	protobuf_append(dictionary, table);
}

static void put_dictionary(struct otlp_writer *self, struct protobuf *data)
{
	const struct profile *profile = self->profile;
	struct protobuf dictionary = { 0 };

	put_mappings(self, &dictionary);
	protobuf_put_element(&dictionary, DICTIONARY_LOCATIONS, NULL, 0);
	for (size_t i = 1; i < profile->n_locations; i++)
		put_location(self, &dictionary, &profile->locations[i]);
	append_table(&dictionary, DICTIONARY_FUNCTIONS, &self->function_table);
	put_links(self, &dictionary);
	append_table(&dictionary, DICTIONARY_ATTRIBUTES, &self->attribute_table);
	append_table(&dictionary, DICTIONARY_STACKS, &self->stack_table);
	for (size_t i = 0; i < self->strings.n; i++) {
		const char *text = used_names_text(&self->strings, i);

		protobuf_put_element(&dictionary, DICTIONARY_STRINGS, text, strlen(text));
	}
	protobuf_put_message(data, DATA_DICTIONARY, &dictionary);
	protobuf_deinit(&dictionary);
}

static int write_data(const struct export *export, const struct protobuf *data)
{
	FILE *out = output_stream_open(export->output, OUTPUT_PLAIN);

	if (!out)
		return -ENOMEM;
	fwrite(data->data, 1, data->size, out);
	return output_stream_close(out);
}

static int put_all(struct otlp_writer *self)
{
	struct protobuf data = { 0 };
	int r = profile_groups_init(&self->groups, self->profile);

	if (r == 0)
		r = wait_reasons_init(&self->reasons, self->profile);
	if (r == 0)
		r = number_links(self);
	self->stack_of_node = calloc(self->profile->n_nodes, sizeof(*self->stack_of_node));
	if (r < 0 || !self->stack_of_node)
		return -ENOMEM;
	r = put_resources(self, &data);
	if (r == 0)
		put_dictionary(self, &data);
	if (self->has_failed || self->strings.has_failed || data.has_failed)
		r = -ENOMEM;
	if (r == 0)
		r = write_data(self->export, &data);
	protobuf_deinit(&data);
	return r;
}

static int write_file(const struct export *export)
{
	struct otlp_writer self = { .export = export, .profile = export->profile };
	struct protobuf *const messages[] = { &self.function_table, &self.attribute_table,
					      &self.stack_table,    &self.samples,
					      &self.message,	    &self.inner,
					      &self.value,	    &self.list };
	int r;

	pair_map_init(&self.functions, PROFILE_CALLS_MAX);
	pair_map_init(&self.attributes, PROFILE_CALLS_MAX);
	r = used_names_init(&self.strings, &export->profile->stacks->names);
	choose_views(&self);
	if (r == 0)
		r = put_all(&self);
	if (r == 0)
		r = check_sums(&self);
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		protobuf_deinit(messages[i]);
	free(self.stack_of_node);
	free(self.link_of_context);
	profile_groups_deinit(&self.groups);
	wait_reasons_deinit(&self.reasons);
	pair_map_deinit(&self.functions);
	pair_map_deinit(&self.attributes);
	used_names_deinit(&self.strings);
	return r;
}

const struct format format_otlp = {
	.wants = RECORDER_LOSSES | RECORDER_CONTEXTS,
	.write = write_file,
};
