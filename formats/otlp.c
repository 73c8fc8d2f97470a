/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * OpenTelemetry profiles: one ProfilesData, as in the body of an OTLP request, in the form that
 * backends take (the Collector from 0.148 on, Pyroscope from 1.20 on, Parca from 0.27 on):
 *
 * - A profile has one type of value, and a sample one value: the sum of all samples with the same
 *   stack and attributes. There is no profile without samples.
 * - A sample says how its stack ended. It names process and thread; their numbers, which make each
 *   sample its own, are written on request.
 * - CPU time is counted in samples, with the period in nanoseconds; waits are nanoseconds, without
 *   a period; a heap has Go's types.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/base/sum.h"
#include "formats/format.h"
#include "formats/heap-types.h"
#include "formats/otlp-dictionary.h"
#include "formats/otlp-fields.h"
#include "formats/otlp-resource.h"
#include "formats/output-stream.h"
#include "profile/groups.h"
#include "profile/wait-reasons.h"

/* What the names of attributes mean. */
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"
/* Since 1.10 the fields of a sample have other numbers than before, under the same names. */
#define PROTOCOL "1.10"

/*
 * What a profile counts. Parca wants the type of the period even if there is none; Pyroscope names
 * what it does not know by it, but knows waits only without a period.
 */
struct otlp_kind {
	const char *name, *unit;
	const char *period_name, *period_unit;
	uint64_t period;	      /* 0: none */
	struct view view;	      /* of samples */
	const struct heap_type *heap; /* NULL: of samples */
};

enum {
	KINDS_MAX = EVENTS_MAX + N_HEAP_TYPES,
	ROWS_MAX = 4 * PROFILE_SAMPLES_MAX,
};

struct otlp_row {
	uint32_t stack, set;
	uint64_t n;
};

struct otlp_writer {
	const struct export *export;
	const struct profile *profile;
	struct profile_groups groups;
	struct wait_reasons reasons;
	struct otlp_dictionary dictionary;
	struct otlp_resources resources;
	struct otlp_kind kinds[KINDS_MAX];
	uint64_t sums[KINDS_MAX]; /* of what was written */
	size_t n_kinds;
	uint32_t *items; /* groups, or stacks of a heap, by resource */
	size_t *ends;	 /* by resource: the end of its items */
	struct pair_map
		row_of; /* (profile and stack, set) → row; never cleared, as profiles may be many */
	struct otlp_row *rows; /* of the profile that is being written */
	size_t n_rows;
	uint64_t n_profiles; /* begun so far, and those without samples */
	bool has_totals;
	struct protobuf sample, profile_message, indices;
};

static void add_kind(struct otlp_writer *self, struct otlp_kind kind)
{
	self->kinds[self->n_kinds++] = kind;
}

/* CPU time is counted in samples, and so is the only event of a recording. */
static void add_event(struct otlp_writer *self, uint32_t number)
{
	const struct stacks *stacks = self->profile->stacks;
	const struct events *events = &stacks->events;
	bool is_wait = events_is_wait(events, number);
	bool is_clock = event_is_time(&events->list[number]) && !is_wait &&
			!events_is_wakeup(events, number);
	struct view view = { is_clock || events->n == 1 ? VIEW_SAMPLES : VIEW_WEIGHTS, number };
	struct otlp_kind kind = {
		.name = view.kind == VIEW_SAMPLES ? "samples"
			: is_wait		  ? "off_cpu"
						  : events->list[number].name,
		.unit = view_is_time(events, view) ? "nanoseconds" : "count",
		.period = !is_wait,
		.view = view,
	};

	if (!events_kind(events, number))
		return;
	kind.period_name = kind.name;
	kind.period_unit = kind.unit;
	if (is_clock && stacks->hello.rate) {
		kind.period_name = "cpu";
		kind.period_unit = "nanoseconds";
		kind.period = NANOSECONDS_A_SECOND / stacks->hello.rate;
	}
	add_kind(self, kind);
}

static void add_heap_type(struct otlp_writer *self, const struct heap_type *type)
{
	add_kind(self, (struct otlp_kind){
			       .name = type->name,
			       .unit = heap_type_unit(type),
			       .period_name = "space",
			       .period_unit = "bytes",
			       .period = 1,
			       .heap = type,
		       });
}

static void choose_kinds(struct otlp_writer *self)
{
	bool is_heap = export_is_heap(self->export);

	for (size_t i = 0; i < N_HEAP_TYPES && is_heap; i++)
		add_heap_type(self, &heap_types[i]);
	for (uint32_t i = 0; i < self->profile->stacks->events.n && !is_heap; i++)
		add_event(self, i);
}

static size_t count_items(const struct otlp_writer *self)
{
	return export_is_heap(self->export) ? self->export->heap->n_stacks : self->groups.n;
}

/* A stack of a heap that is not known has no thread either. */
static bool is_known(const struct otlp_writer *self, uint32_t item)
{
	return !export_is_heap(self->export) || self->export->heap->stacks[item].node;
}

static uint32_t resource_of_item(const struct otlp_writer *self, uint32_t item)
{
	uint32_t thread = export_is_heap(self->export) ? self->export->heap->stacks[item].thread
						       : self->groups.list[item].thread;

	return self->resources.of_process[self->profile->threads[thread].process];
}

/* Sorts the items by resource. 0 or -ENOMEM. */
static int sort_items(struct otlp_writer *self)
{
	size_t n = count_items(self), first = 0;

	self->items = calloc(n + 1, sizeof(*self->items));
	self->ends = calloc(self->resources.n + 1, sizeof(*self->ends));
	if (!self->items || !self->ends)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		if (is_known(self, i))
			self->ends[resource_of_item(self, i)]++;
	for (size_t i = 0; i < self->resources.n; i++) {
		size_t n_of_resource = self->ends[i];

		self->ends[i] = first; /* and moves to its end below */
		first += n_of_resource;
	}
	for (size_t i = 0; i < n; i++)
		if (is_known(self, i))
			self->items[self->ends[resource_of_item(self, i)]++] = i;
	return 0;
}

static uint32_t add_text(struct otlp_writer *self, uint32_t set, const char *key, uint32_t name)
{
	struct otlp_dictionary *dictionary = &self->dictionary;

	return name ? otlp_set_add(dictionary, set, otlp_attribute_text(dictionary, key, name))
		    : set;
}

static uint32_t add_number(struct otlp_writer *self, uint32_t set, const char *key, uint64_t number)
{
	struct otlp_dictionary *dictionary = &self->dictionary;

	return otlp_set_add(dictionary, set, otlp_attribute_number(dictionary, key, number));
}

static uint32_t add_end(struct otlp_writer *self, uint32_t set, uint32_t end)
{
	struct names *names = &self->profile->stacks->names;
	const char *text = stacks_end_name(end);

	return add_text(self, set, "stackpipe.stack.end", names_intern(names, text, strlen(text)));
}

/* Of each sample of a thread, and of each stack of a heap. */
static uint32_t set_of_thread(struct otlp_writer *self, uint32_t number, uint32_t end)
{
	const struct profile_thread *thread = &self->profile->threads[number];
	const struct profile_process *process = &self->profile->processes[thread->process];
	uint32_t set = add_text(self, 0, "process.executable.name", process->name);

	if (self->export->has_ids)
		set = add_number(self, set, "process.pid", process->pid);
	set = add_text(self, set, "thread.name", thread->name);
	if (self->export->has_ids)
		set = add_number(self, set, "thread.id", thread->tid);
	return add_end(self, set, end);
}

/* The reason of a wait, and the thread that ended it. */
static uint32_t add_wait(struct otlp_writer *self, uint32_t set,
			 const struct profile_sample *sample)
{
	const struct profile_thread *waker = wait_waker(self->profile, sample);

	set = add_text(self, set, "stackpipe.wait", wait_reason(&self->reasons, sample));
	if (!waker)
		return set;
	set = add_text(self, set, "stackpipe.waker.name", waker->name);
	return self->export->has_ids ? add_number(self, set, "stackpipe.waker.id", waker->tid)
				     : set;
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

static uint32_t add_context(struct otlp_writer *self, uint32_t set, uint32_t context)
{
	const struct profile_contexts *contexts = &self->profile->contexts;
	struct profile_attributes attributes =
		context ? contexts->list[context - 1].attributes : (struct profile_attributes){ 0 };

	for (uint32_t i = 0; i < attributes.n && i < PROFILE_KEYS_MAX; i++) {
		uint32_t at = attributes.first + i;
		const struct profile_attribute *attribute = &contexts->attributes[at];
		const char *key = profile_text(self->profile, attribute->key);

		if (!is_ours(key) &&
		    !profile_attributes_have(contexts, attributes.first, at, attribute->key))
			set = add_text(self, set, key, attribute->value);
	}
	return otlp_set_add_link(&self->dictionary, set, context);
}

/* Adds an amount to the row of its stack and attributes. 0 or -ENOMEM. */
static int add_row(struct otlp_writer *self, struct otlp_row row)
{
	uint64_t stack = self->n_profiles << 32 | row.stack;
	uint64_t *known = pair_map_find(&self->row_of, stack, row.set);
	int r;

	if (known) {
		sum_add(&self->rows[*known].n, row.n);
		return 0;
	}
	r = pair_map_add(&self->row_of, stack, row.set, self->n_rows);
	return r < 0 ? -ENOMEM : GROWING_LIST_ADD(self->rows, self->n_rows, row);
}

static int add_group(struct otlp_writer *self, const struct profile_group *group, size_t kind)
{
	const struct profile_sample *sample =
		profile_group_sample(&self->groups, self->profile, group);
	uint64_t n =
		profile_group_amount(&self->groups, self->profile, group, self->kinds[kind].view);
	uint32_t set;

	if (!n)
		return 0;
	sum_add(&self->sums[kind], n);
	set = set_of_thread(self, group->thread, sample->end);
	set = add_wait(self, set, sample);
	set = add_context(self, set, sample->context);
	return add_row(self,
		       (struct otlp_row){ otlp_stack(&self->dictionary, group->node), set, n });
}

static int add_heap_stack(struct otlp_writer *self, const struct heap_stack *stack, size_t kind)
{
	uint64_t n = heap_type_amount(self->kinds[kind].heap, stack);

	if (!n)
		return 0;
	return add_row(self,
		       (struct otlp_row){ otlp_stack(&self->dictionary, stack->node),
					  set_of_thread(self, stack->thread, stack->end), n });
}

/* Collects the rows of a resource's profile. 0 or -ENOMEM. */
static int collect(struct otlp_writer *self, size_t resource, size_t kind)
{
	int r = 0;

	self->n_profiles++;
	self->n_rows = 0;
	for (size_t i = resource ? self->ends[resource - 1] : 0; i < self->ends[resource] && r == 0;
	     i++)
		r = self->kinds[kind].heap
			    ? add_heap_stack(self, &self->export->heap->stacks[self->items[i]],
					     kind)
			    : add_group(self, &self->groups.list[self->items[i]], kind);
	return r;
}

static void put_rows(struct otlp_writer *self)
{
	for (size_t i = 0; i < self->n_rows; i++) {
		const struct otlp_row *row = &self->rows[i];

		protobuf_reset(&self->sample);
		protobuf_put_uint(&self->sample, SAMPLE_STACK, row->stack);
		otlp_put_set(&self->dictionary, row->set, &self->sample);
		protobuf_reset(&self->indices);
		protobuf_add_uint(&self->indices, row->n);
		protobuf_put_packed(&self->sample, SAMPLE_VALUES, &self->indices);
		protobuf_put_message(&self->profile_message, PROFILE_SAMPLES, &self->sample);
	}
}

static void add_total(struct otlp_writer *self, const char *key, uint64_t n)
{
	protobuf_add_uint(&self->indices, otlp_attribute_number(&self->dictionary, key, n));
}

/* Writes losses and end reasons as attributes of the first profile: they are of all resources. */
static void put_totals(struct otlp_writer *self)
{
	const struct stacks *stacks = self->profile->stacks;
	struct names *names = &self->profile->stacks->names;
	uint32_t protocol = names_intern(names, PROTOCOL, strlen(PROTOCOL));

	if (self->has_totals)
		return;
	self->has_totals = true;
	protobuf_reset(&self->indices);
	protobuf_add_uint(&self->indices,
			  otlp_attribute_text(&self->dictionary, "stackpipe.otlp", protocol));
	add_total(self, "stackpipe.lost", stacks->n_lost);
	add_total(self, "stackpipe.left-out", stacks->n_skipped);
	add_total(self, "stackpipe.incomplete", !self->export->is_whole);
	for (uint32_t i = 0; i < STACKS_ENDS; i++) {
		char key[64];

		snprintf(key, sizeof(key), "stackpipe.%s", stacks_end_name(i));
		if (stacks->n_ends[i])
			add_total(self, key, stacks->n_ends[i]);
	}
	protobuf_put_packed(&self->profile_message, PROFILE_ATTRIBUTE_INDICES, &self->indices);
}

static void put_profile(struct otlp_writer *self, const struct otlp_kind *kind,
			struct protobuf *scope)
{
	const struct wire_hello *hello = &self->profile->stacks->hello;

	protobuf_reset(&self->profile_message);
	otlp_put_value_type(&self->dictionary, &self->profile_message, PROFILE_SAMPLE_TYPE,
			    kind->name, kind->unit);
	put_rows(self);
	protobuf_put_fixed64(&self->profile_message, PROFILE_TIME, hello->start_unix_time);
	protobuf_put_uint(&self->profile_message, PROFILE_DURATION,
			  self->profile->stacks->last_time - hello->start_time);
	otlp_put_value_type(&self->dictionary, &self->profile_message, PROFILE_PERIOD_TYPE,
			    kind->period_name, kind->period_unit);
	protobuf_put_uint(&self->profile_message, PROFILE_PERIOD, kind->period);
	put_totals(self);
	protobuf_put_message(scope, SCOPE_PROFILES_PROFILES, &self->profile_message);
}

static void put_scope(struct protobuf *scope)
{
	struct protobuf message = { 0 };

	protobuf_put_text(&message, SCOPE_NAME, "stackpipe");
	protobuf_put_text(&message, SCOPE_VERSION, STACKPIPE_VERSION);
	protobuf_put_message(scope, SCOPE_PROFILES_SCOPE, &message);
	protobuf_deinit(&message);
}

/* Writes a resource, unless it has no samples. 0 or -ENOMEM. */
static int put_resource(struct otlp_writer *self, size_t number, struct protobuf *data)
{
	struct protobuf resource = { 0 }, profiles = { 0 }, scope = { 0 };
	bool has_samples = false;
	int r = 0;

	put_scope(&scope);
	for (size_t kind = 0; kind < self->n_kinds && r == 0; kind++) {
		r = collect(self, number, kind);
		if (r < 0 || !self->n_rows)
			continue;
		put_profile(self, &self->kinds[kind], &scope);
		has_samples = true;
	}
	if (r == 0 && has_samples) {
		otlp_resource_put(&self->resources.list[number], self->export, &resource);
		protobuf_put_message(&profiles, RESOURCE_PROFILES_RESOURCE, &resource);
		protobuf_put_message(&profiles, RESOURCE_PROFILES_SCOPE, &scope);
		protobuf_put_text(&profiles, RESOURCE_PROFILES_SCHEMA_URL, SCHEMA_URL);
		protobuf_put_message(data, DATA_RESOURCE_PROFILES, &profiles);
	}
	data->has_failed |= resource.has_failed | profiles.has_failed | scope.has_failed;
	protobuf_deinit(&resource);
	protobuf_deinit(&profiles);
	protobuf_deinit(&scope);
	return r;
}

static int check_sums(const struct otlp_writer *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_kinds && r == 0; i++)
		if (!self->kinds[i].heap)
			r = profile_check_sum(self->profile, self->kinds[i].view, self->sums[i]);
	return r;
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
		r = otlp_resources_init(&self->resources, self->export);
	if (r == 0)
		r = sort_items(self);
	for (size_t i = 0; i < self->resources.n && r == 0; i++)
		r = put_resource(self, i, &data);
	if (r == 0)
		otlp_dictionary_put(&self->dictionary, &data);
	if (self->dictionary.has_failed || data.has_failed || self->sample.has_failed ||
	    self->profile_message.has_failed || self->indices.has_failed)
		r = -ENOMEM;
	if (r == 0)
		r = write_data(self->export, &data);
	protobuf_deinit(&data);
	return r < 0 ? r : check_sums(self);
}

static int write_file(const struct export *export)
{
	struct otlp_writer self = { .export = export, .profile = export->profile };
	int r = otlp_dictionary_init(&self.dictionary, export->profile);

	pair_map_init(&self.row_of, ROWS_MAX);
	choose_kinds(&self);
	if (r == 0)
		r = put_all(&self);
	protobuf_deinit(&self.sample);
	protobuf_deinit(&self.profile_message);
	protobuf_deinit(&self.indices);
	pair_map_deinit(&self.row_of);
	free(self.rows);
	free(self.items);
	free(self.ends);
	profile_groups_deinit(&self.groups);
	wait_reasons_deinit(&self.reasons);
	otlp_resources_deinit(&self.resources);
	otlp_dictionary_deinit(&self.dictionary);
	return r;
}

const struct format format_otlp = {
	.wants = RECORDER_LOSSES | RECORDER_CONTEXTS,
	.write = write_file,
};
