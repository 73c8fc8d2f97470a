/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * pprof's profile.proto (github.com/google/pprof, proto/profile.proto), compressed. It has no time
 * axis: samples of a thread with the same stack are added up. The reason and waker of waits,
 * trace, span and attributes of contexts, and service, container, unit and cgroup of processes are
 * labels. Addresses are offsets in files; each module is a mapping that begins at 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/sum.h"
#include "formats/format.h"
#include "formats/heap-types.h"
#include "formats/output-stream.h"
#include "formats/protobuf.h"
#include "profile/groups.h"
#include "profile/names/used-names.h"
#include "profile/program.h"
#include "profile/wait-reasons.h"

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum value_type_field { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION_ID = 1, LINE_LINE = 2 };
enum function_field {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4
};

struct pprof_writer {
	const struct export *export;
	const struct profile *profile;
	struct wait_reasons reasons;
	FILE *out;
	struct used_names strings;
	struct pair_map functions; /* (name, file) → id */
	struct protobuf field, message, inner, list;
	struct view views[VIEWS_MAX]; /* each sample has a value for each */
	uint64_t sums[VIEWS_MAX];     /* of what was written */
	size_t n_views;
};

/* Writes a field of the outermost message directly to the file. */
static void put(struct pprof_writer *self, uint32_t field, const struct protobuf *message)
{
	protobuf_reset(&self->field);
	protobuf_put_message(&self->field, field, message);
	fwrite(self->field.data, 1, self->field.size, self->out);
}

static void put_uint(struct pprof_writer *self, uint32_t field, uint64_t value)
{
	protobuf_reset(&self->field);
	protobuf_put_uint(&self->field, field, value);
	fwrite(self->field.data, 1, self->field.size, self->out);
}

static void put_value_type(struct pprof_writer *self, uint32_t field, const char *type,
			   const char *unit)
{
	protobuf_reset(&self->message);
	protobuf_put_uint(&self->message, VALUE_TYPE_TYPE,
			  used_names_index_of_text(&self->strings, type));
	protobuf_put_uint(&self->message, VALUE_TYPE_UNIT,
			  used_names_index_of_text(&self->strings, unit));
	put(self, field, &self->message);
}

static void put_heap_types(struct pprof_writer *self)
{
	for (int i = 0; i < N_HEAP_TYPES; i++)
		put_value_type(self, PROFILE_SAMPLE_TYPE, heap_types[i].name,
			       heap_type_unit(&heap_types[i]));
	put_value_type(self, PROFILE_PERIOD_TYPE, "space", "bytes");
	put_uint(self, PROFILE_DEFAULT_SAMPLE_TYPE,
		 used_names_index_of_text(&self->strings, "peak_space"));
}

/* Uses Go's names: "samples", "cpu". */
static const char *type_name(const struct pprof_writer *self, struct view view)
{
	const struct events *events = &self->profile->stacks->events;

	return view.kind == VIEW_WEIGHTS && !view.event && event_is_time(&events->list[0])
		       ? "cpu"
		       : view_name(events, view);
}

static void put_time_types(struct pprof_writer *self)
{
	const struct stacks *stacks = self->profile->stacks;
	bool is_clock = event_is_time(&stacks->events.list[0]);

	for (size_t i = 0; i < self->n_views; i++)
		put_value_type(self, PROFILE_SAMPLE_TYPE, type_name(self, self->views[i]),
			       view_is_time(&stacks->events, self->views[i]) ? "nanoseconds"
									     : "count");
	put_value_type(self, PROFILE_PERIOD_TYPE, type_name(self, self->views[1]),
		       is_clock ? "nanoseconds" : "count");
	if (is_clock && stacks->hello.rate)
		put_uint(self, PROFILE_PERIOD, NANOSECONDS_A_SECOND / stacks->hello.rate);
}

static void put_types(struct pprof_writer *self)
{
	const struct stacks *stacks = self->profile->stacks;
	char remark[512];

	if (export_is_heap(self->export))
		put_heap_types(self);
	else
		put_time_types(self);
	put_uint(self, PROFILE_TIME_NANOS, stacks->hello.start_unix_time);
	put_uint(self, PROFILE_DURATION_NANOS, stacks->last_time - stacks->hello.start_time);
	for (uint32_t i = 0; export_remark(self->export, i, remark, sizeof(remark)); i++)
		put_uint(self, PROFILE_COMMENT, used_names_index_of_text(&self->strings, remark));
}

static void add_label(struct pprof_writer *self, const char *key, uint32_t text, uint64_t number)
{
	protobuf_reset(&self->inner);
	protobuf_put_uint(&self->inner, LABEL_KEY, used_names_index_of_text(&self->strings, key));
	protobuf_put_uint(&self->inner, LABEL_STR, text);
	protobuf_put_uint(&self->inner, LABEL_NUM, number);
	protobuf_put_message(&self->message, SAMPLE_LABEL, &self->inner);
}

/* Skips an unknown name. */
static void add_text_label(struct pprof_writer *self, const char *key, uint32_t name)
{
	if (name)
		add_label(self, key, used_names_index(&self->strings, name), 0);
}

/* Begins a sample in `message`, with the stack of a node and the values in `list`. */
static void begin_sample(struct pprof_writer *self, uint32_t node)
{
	const struct profile *profile = self->profile;

	protobuf_reset(&self->message);
	protobuf_put_packed(&self->message, SAMPLE_VALUE, &self->list);
	protobuf_reset(&self->list);
	for (; node; node = profile->nodes[node].parent)
		protobuf_add_uint(&self->list, profile->nodes[node].location);
	protobuf_put_packed(&self->message, SAMPLE_LOCATION_ID, &self->list);
}

static void put_heap_stack(struct pprof_writer *self, const struct heap_stack *stack)
{
	const struct profile_process *process =
		&self->profile->processes[self->profile->threads[stack->thread].process];

	protobuf_reset(&self->list);
	for (int i = 0; i < N_HEAP_TYPES; i++)
		protobuf_add_uint(&self->list, heap_type_amount(&heap_types[i], stack));
	begin_sample(self, stack->node);
	add_label(self, "process", used_names_index(&self->strings, process->name), 0);
	add_label(self, "pid", 0, process->pid);
	put(self, PROFILE_SAMPLE, &self->message);
}

static void add_text(struct pprof_writer *self, const char *key, const char *text)
{
	if (*text)
		add_label(self, key, used_names_index_of_text(&self->strings, text), 0);
}

static void add_attributes(struct pprof_writer *self, struct profile_attributes attributes)
{
	for (uint32_t i = attributes.first; i < attributes.first + attributes.n; i++) {
		const struct profile_attribute *attribute = &self->profile->contexts.attributes[i];

		add_text_label(self, profile_text(self->profile, attribute->key), attribute->value);
	}
}

/* What the program publishes: its service, and the trace context of the thread. */
static void add_context_labels(struct pprof_writer *self, const struct profile_process *process,
			       const struct profile_sample *sample)
{
	const struct profile_contexts *contexts = &self->profile->contexts;
	const struct profile_context *context;

	add_text_label(self, "service.name",
		       profile_attribute_find(contexts, process->resource, "service.name"));
	if (!sample->context)
		return;
	context = &contexts->list[sample->context - 1];
	add_text(self, "trace_id", context->trace_id);
	add_text(self, "span_id", context->span_id);
	add_attributes(self, context->attributes);
}

/* The reason of a wait, and the thread that ended it. */
static void add_wait_labels(struct pprof_writer *self, const struct profile_sample *sample)
{
	const struct profile_thread *waker = wait_waker(self->profile, sample);

	add_text_label(self, "wait", wait_reason(&self->reasons, sample));
	if (!waker)
		return;
	add_text_label(self, "waker", waker->name);
	add_label(self, "waker_tid", 0, waker->tid);
}

static void put_sample(struct pprof_writer *self, const struct profile_groups *groups,
		       const struct profile_group *group)
{
	const struct profile *profile = self->profile;
	const struct profile_thread *thread = &profile->threads[group->thread];
	const struct profile_process *process = &profile->processes[thread->process];

	protobuf_reset(&self->list);
	for (size_t i = 0; i < self->n_views; i++) {
		uint64_t n = profile_group_amount(groups, profile, group, self->views[i]);

		protobuf_add_uint(&self->list, n);
		sum_add(&self->sums[i], n);
	}
	begin_sample(self, group->node);
	add_label(self, "process", used_names_index(&self->strings, process->name), 0);
	add_label(self, "pid", 0, process->pid);
	add_label(self, "thread", used_names_index(&self->strings, thread->name), 0);
	add_label(self, "tid", 0, thread->tid);
	add_text_label(self, "cgroup", process->cgroup);
	add_text_label(self, "container", process->container);
	add_text_label(self, "systemd_unit", process->unit);
	add_wait_labels(self, profile_group_sample(groups, profile, group));
	add_context_labels(self, process, profile_group_sample(groups, profile, group));
	put(self, PROFILE_SAMPLE, &self->message);
}

/*
 * The id of a function, which is written when first needed. Readers shorten names of C++ unless a
 * function has another system name: those of scripts ("<module>") have none, and stay whole.
 */
static uint64_t find_function(struct pprof_writer *self, const struct profile_call *call,
			      enum profile_location_kind kind)
{
	uint64_t *known = pair_map_find(&self->functions, call->name, call->line.file), id;

	if (known)
		return *known;
	id = self->functions.n + 1;
	if (pair_map_add(&self->functions, call->name, call->line.file, id) < 0) {
		self->field.has_failed = true;
		return 0;
	}
	protobuf_reset(&self->list);
	protobuf_put_uint(&self->list, FUNCTION_ID, id);
	protobuf_put_uint(&self->list, FUNCTION_NAME, used_names_index(&self->strings, call->name));
	if (kind != PROFILE_SCRIPT)
		protobuf_put_uint(&self->list, FUNCTION_SYSTEM_NAME,
				  used_names_index(&self->strings, call->name));
	protobuf_put_uint(&self->list, FUNCTION_FILENAME,
			  used_names_index(&self->strings, call->line.file));
	put(self, PROFILE_FUNCTION, &self->list);
	return id;
}

static void put_location(struct pprof_writer *self, uint32_t number)
{
	const struct profile_location *location = &self->profile->locations[number];

	protobuf_reset(&self->message);
	protobuf_put_uint(&self->message, LOCATION_ID, number);
	protobuf_put_uint(&self->message, LOCATION_MAPPING_ID, location->module);
	if (location->kind != PROFILE_CUT)
		protobuf_put_uint(&self->message, LOCATION_ADDRESS, location->offset);
	for (uint32_t i = location->n_calls; i-- > 0;) { /* the innermost first */
		const struct profile_call *call = &self->profile->calls[location->first_call + i];
		uint64_t function = find_function(self, call, location->kind);

		protobuf_reset(&self->inner);
		protobuf_put_uint(&self->inner, LINE_FUNCTION_ID, function);
		protobuf_put_uint(&self->inner, LINE_LINE, call->line.line);
		protobuf_put_message(&self->message, LOCATION_LINE, &self->inner);
	}
	put(self, PROFILE_LOCATION, &self->message);
}

static void put_mapping(struct pprof_writer *self, uint32_t number, uint64_t limit)
{
	const struct profile_module *module = &self->profile->modules[number];

	protobuf_reset(&self->message);
	protobuf_put_uint(&self->message, MAPPING_ID, number);
	protobuf_put_uint(&self->message, MAPPING_MEMORY_LIMIT, limit);
	protobuf_put_uint(&self->message, MAPPING_FILENAME,
			  used_names_index(&self->strings, module->path));
	protobuf_put_uint(&self->message, MAPPING_BUILD_ID,
			  used_names_index(&self->strings, module->build_id));
	/* So that readers do not look up names again where none was found. */
	protobuf_put_uint(&self->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_put_uint(&self->message, MAPPING_HAS_FILENAMES, 1);
	protobuf_put_uint(&self->message, MAPPING_HAS_LINE_NUMBERS, 1);
	protobuf_put_uint(&self->message, MAPPING_HAS_INLINE_FRAMES, 1);
	put(self, PROFILE_MAPPING, &self->message);
}

/* The program comes first: readers use its name for the whole profile. */
static int put_mappings(struct pprof_writer *self)
{
	const struct profile *profile = self->profile;
	_cleanup_free_ uint64_t *limits = calloc(profile->n_modules, sizeof(*limits));
	uint32_t program;
	int r = limits ? profile_find_program(profile, &program) : -ENOMEM;

	if (r < 0)
		return r;
	for (size_t i = 1; i < profile->n_locations; i++) {
		const struct profile_location *location = &profile->locations[i];

		if (location->offset >= limits[location->module])
			limits[location->module] = location->offset + 1;
	}
	if (program)
		put_mapping(self, program, limits[program]);
	for (size_t i = 1; i < profile->n_modules; i++)
		if (i != program)
			put_mapping(self, i, limits[i]);
	return 0;
}

static void put_strings(struct pprof_writer *self)
{
	for (size_t i = 0; i < self->strings.n; i++) {
		const char *text = used_names_text(&self->strings, i);

		protobuf_reset(&self->field);
		protobuf_put_element(&self->field, PROFILE_STRING_TABLE, text, strlen(text));
		fwrite(self->field.data, 1, self->field.size, self->out);
	}
}

static void put_samples(struct pprof_writer *self, const struct profile_groups *groups)
{
	const struct heap *heap = self->export->heap;

	for (size_t i = 0; heap && i < heap->n_stacks; i++)
		if (heap->stacks[i].node)
			put_heap_stack(self, &heap->stacks[i]);
	for (size_t i = 0; i < groups->n && !export_is_heap(self->export); i++)
		put_sample(self, groups, &groups->list[i]);
}

static int check_sums(const struct pprof_writer *self)
{
	int r = 0;

	for (size_t i = 0; i < self->n_views && r == 0 && !export_is_heap(self->export); i++)
		r = profile_check_sum(self->profile, self->views[i], self->sums[i]);
	return r;
}

static int put_all(struct pprof_writer *self)
{
	struct profile_groups groups;
	int r = profile_groups_init(&groups, self->profile);

	if (r == 0) {
		put_types(self);
		put_samples(self, &groups);
		for (size_t i = 1; i < self->profile->n_locations; i++)
			put_location(self, i);
		r = put_mappings(self);
		put_strings(self);
		if (r == 0)
			r = check_sums(self);
	}
	profile_groups_deinit(&groups);
	return r;
}

static int write_file(const struct export *export)
{
	struct pprof_writer self = { .export = export, .profile = export->profile };
	int closed, r;

	self.n_views = events_views(&export->profile->stacks->events, self.views);
	pair_map_init(&self.functions, PROFILE_CALLS_MAX);
	r = wait_reasons_init(&self.reasons, export->profile);
	if (r == 0)
		r = used_names_init(&self.strings, &export->profile->stacks->names);
	self.out = output_stream_open(export->output, OUTPUT_GZIP);
	if (r == 0)
		r = self.out ? put_all(&self) : -ENOMEM;
	if (self.strings.has_failed || self.field.has_failed || self.message.has_failed ||
	    self.inner.has_failed || self.list.has_failed)
		r = -ENOMEM;
	closed = self.out ? output_stream_close(self.out) : 0;
	protobuf_deinit(&self.field);
	protobuf_deinit(&self.message);
	protobuf_deinit(&self.inner);
	protobuf_deinit(&self.list);
	pair_map_deinit(&self.functions);
	wait_reasons_deinit(&self.reasons);
	used_names_deinit(&self.strings);
	return r < 0 ? r : closed;
}

const struct format format_pprof = {
	.lacks = "times of samples and losses",
	.wants = RECORDER_LOSSES | RECORDER_CONTEXTS,
	.write = write_file,
};
