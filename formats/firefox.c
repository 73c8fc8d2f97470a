/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The Firefox Profiler's processed format, version 48 (firefox-devtools/profiler,
 * docs-developer/CHANGELOG-formats.md); the profiler upgrades it on loading. Each thread has its
 * own tables, stored as columns. Times are milliseconds since the start. An inlined call is a frame
 * with the same address and a larger inline depth.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/arch/arch.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "common/base/json.h"
#include "common/base/sum.h"
#include "common/base/text.h"
#include "formats/firefox-markers.h"
#include "formats/format.h"
#include "formats/output-stream.h"
#include "profile/names/used-names.h"
#include "profile/program.h"
#include "profile/threads.h"

enum {
	PROCESSED_VERSION = 48,
	GECKO_VERSION = 30,
	RESOURCE_TYPE_LIBRARY = 1,
	THREAD_NAME_SHOWN = 150,
};

struct firefox_frame {
	uint32_t location, call, depth, function;
};

struct firefox_function {
	uint32_t name, file, module; /* indices of strings; of resources, + 1; 0: none */
};

struct stack {
	uint32_t frame, prefix; /* prefix: index + 1; 0: none */
};

/* The tables of one thread. The maps give indices; `stack_of` gives index + 1. */
struct thread_tables {
	struct firefox_frame *frames;
	struct firefox_function *functions;
	struct stack *stacks;
	uint32_t *resources; /* modules */
	size_t n_frames, n_functions, n_stacks, n_resources;
	struct used_names strings;
	struct pair_map function_of, frame_of, stack_of, resource_of;
};

struct firefox_writer {
	const struct export *export;
	const struct profile *profile;
	FILE *out;
	struct wait_reasons reasons;
	struct thread_tables tables;
	struct view view;		/* of the samples being written */
	struct firefox_marker *markers; /* of the thread being written; owned */
	size_t n_markers, n_threads;	/* n_threads: written so far */
	uint64_t n_put;			/* in the view */
	bool has_failed;		/* out of memory */
};

static int begin_tables(struct thread_tables *tables, struct names *names)
{
	*tables = (struct thread_tables){ 0 };
	pair_map_init(&tables->function_of, PROFILE_CALLS_MAX);
	pair_map_init(&tables->frame_of, PROFILE_CALLS_MAX);
	pair_map_init(&tables->stack_of, SIZE_MAX);
	pair_map_init(&tables->resource_of, PROFILE_MODULES_MAX);
	return used_names_init(&tables->strings, names);
}

static void end_tables(struct thread_tables *tables)
{
	free(tables->frames);
	free(tables->functions);
	free(tables->stacks);
	free(tables->resources);
	used_names_deinit(&tables->strings);
	pair_map_deinit(&tables->function_of);
	pair_map_deinit(&tables->frame_of);
	pair_map_deinit(&tables->stack_of);
	pair_map_deinit(&tables->resource_of);
}

/* Looks up a pair; a new one gets the number `n`. Returns true also on failure. */
static bool is_known(struct firefox_writer *self, struct pair_map *map, uint64_t a, uint64_t b,
		     size_t n, uint32_t *ret)
{
	uint64_t *known = pair_map_find(map, a, b);

	*ret = known ? *known : n;
	if (!known && pair_map_add(map, a, b, n) < 0)
		self->has_failed = true;
	return known || self->has_failed;
}

/* The resource of a module: index + 1. */
static uint32_t find_resource(struct firefox_writer *self, uint32_t module)
{
	struct thread_tables *tables = &self->tables;
	uint32_t index;

	if (!module)
		return 0;
	if (!is_known(self, &tables->resource_of, module, 0, tables->n_resources, &index)) {
		if (GROWING_LIST_MAKE_ROOM(tables->resources, tables->n_resources) < 0)
			self->has_failed = true;
		else
			tables->resources[tables->n_resources++] = module;
	}
	return index + 1;
}

static uint32_t find_function(struct firefox_writer *self, const struct profile_location *location,
			      const struct profile_call *call)
{
	struct thread_tables *tables = &self->tables;
	uint32_t index;

	if (is_known(self, &tables->function_of, call->name,
		     (uint64_t)location->module << 32 | call->line.file, tables->n_functions,
		     &index))
		return index;
	if (GROWING_LIST_MAKE_ROOM(tables->functions, tables->n_functions) < 0) {
		self->has_failed = true;
		return 0;
	}
	tables->functions[tables->n_functions++] = (struct firefox_function){
		.name = used_names_index(&tables->strings, call->name),
		.file = used_names_index(&tables->strings, call->line.file),
		.module = find_resource(self, location->module),
	};
	return index;
}

/* The frame of the i-th call at a location. */
static uint32_t find_frame(struct firefox_writer *self, uint32_t number, uint32_t i)
{
	const struct profile_location *location = &self->profile->locations[number];
	const struct profile_call *call = &self->profile->calls[location->first_call + i];
	struct thread_tables *tables = &self->tables;
	uint32_t index, function;

	if (is_known(self, &tables->frame_of, number, i, tables->n_frames, &index))
		return index;
	function = find_function(self, location, call);
	if (self->has_failed)
		return 0;
	if (GROWING_LIST_MAKE_ROOM(tables->frames, tables->n_frames) < 0) {
		self->has_failed = true;
		return 0;
	}
	tables->frames[tables->n_frames++] =
		(struct firefox_frame){ number, location->first_call + i, i, function };
	return index;
}

/* Adds the stack of a node below its callers' stack `prefix`. Returns index + 1. */
static uint32_t add_stack(struct firefox_writer *self, uint32_t node, uint32_t prefix)
{
	struct thread_tables *tables = &self->tables;
	uint32_t location = self->profile->nodes[node].location;
	uint32_t n_calls = self->profile->locations[location].n_calls;

	for (uint32_t i = 0; i < n_calls; i++) {
		struct stack stack = { find_frame(self, location, i), prefix };

		if (self->has_failed)
			return 0;
		if (GROWING_LIST_MAKE_ROOM(tables->stacks, tables->n_stacks) < 0) {
			self->has_failed = true;
			return 0;
		}
		tables->stacks[tables->n_stacks++] = stack;
		prefix = tables->n_stacks;
	}
	return prefix;
}

/* The stack of a node, index + 1; adds those of its callers if necessary. */
static uint32_t find_stack(struct firefox_writer *self, uint32_t node, uint32_t *path)
{
	struct pair_map *known_stacks = &self->tables.stack_of;
	uint64_t *known = NULL;
	uint32_t stack;
	size_t n = 0;

	for (; node && !known; node = self->profile->nodes[node].parent) {
		known = pair_map_find(known_stacks, node, 0);
		if (!known)
			path[n++] = node;
	}
	stack = known ? *known : 0;
	while (n-- && !self->has_failed) {
		stack = add_stack(self, path[n], stack);
		if (pair_map_add(known_stacks, path[n], 0, stack) < 0)
			self->has_failed = true;
	}
	return stack;
}

/* Writes a column of a table: a name, and a number for each row. The value `null` becomes null. */
#define PUT_COLUMN(out, name, n, value, null)                                                      \
	do {                                                                                       \
		fprintf(out, ",\"%s\":[", name);                                                   \
		for (size_t i = 0; i < (n); i++) {                                                 \
			int64_t value_ = (value);                                                  \
                                                                                                   \
			if (i)                                                                     \
				putc_unlocked(',', out);                                           \
			if (value_ == (null))                                                      \
				fputs("null", out);                                                \
			else                                                                       \
				fprintf(out, "%" PRId64, value_);                                  \
		}                                                                                  \
		putc_unlocked(']', out);                                                           \
	} while (0)

enum { NEVER_NULL = -2 }; /* a value that no column has */

static void put_frames(struct firefox_writer *self)
{
	const struct thread_tables *tables = &self->tables;
	const struct profile *profile = self->profile;
	FILE *out = self->out;
	const struct firefox_frame *frames = tables->frames;
	size_t n = tables->n_frames;

	fprintf(out, ",\n\"frameTable\":{\"length\":%zu", n);
	PUT_COLUMN(out, "address", n,
		   profile->locations[frames[i].location].module
			   ? (int64_t)profile->locations[frames[i].location].offset
			   : -1,
		   NEVER_NULL);
	PUT_COLUMN(out, "inlineDepth", n, frames[i].depth, NEVER_NULL);
	PUT_COLUMN(out, "category", n, profile->locations[frames[i].location].kind, NEVER_NULL);
	PUT_COLUMN(out, "subcategory", n, 0, NEVER_NULL);
	PUT_COLUMN(out, "func", n, frames[i].function, NEVER_NULL);
	PUT_COLUMN(out, "nativeSymbol", n, -1, -1);
	PUT_COLUMN(out, "innerWindowID", n, 0, NEVER_NULL);
	PUT_COLUMN(out, "implementation", n, -1, -1);
	PUT_COLUMN(out, "line", n, profile->calls[frames[i].call].line.line, 0);
	PUT_COLUMN(out, "column", n, -1, -1);
	putc('}', out);
}

static void put_functions(struct firefox_writer *self)
{
	const struct thread_tables *tables = &self->tables;
	const struct firefox_function *functions = tables->functions;
	FILE *out = self->out;
	size_t n = tables->n_functions;

	fprintf(out, ",\n\"funcTable\":{\"length\":%zu", n);
	PUT_COLUMN(out, "name", n, functions[i].name, NEVER_NULL);
	fputs(",\"isJS\":[", out);
	for (size_t i = 0; i < n; i++)
		fputs(i ? ",false" : "false", out);
	fputs("],\"relevantForJS\":[", out);
	for (size_t i = 0; i < n; i++)
		fputs(i ? ",false" : "false", out);
	putc(']', out);
	PUT_COLUMN(out, "resource", n, (int64_t)functions[i].module - 1, NEVER_NULL);
	PUT_COLUMN(out, "fileName", n, functions[i].file, 0);
	PUT_COLUMN(out, "lineNumber", n, -1, -1);
	PUT_COLUMN(out, "columnNumber", n, -1, -1);
	putc('}', out);
}

static void put_stacks_and_resources(struct firefox_writer *self)
{
	struct thread_tables *tables = &self->tables;
	const struct profile *profile = self->profile;
	const struct stack *stacks = tables->stacks;
	FILE *out = self->out;
	size_t n = tables->n_stacks;

	fprintf(out, ",\n\"stackTable\":{\"length\":%zu", n);
	PUT_COLUMN(out, "frame", n, stacks[i].frame, NEVER_NULL);
	PUT_COLUMN(out, "prefix", n, (int64_t)stacks[i].prefix - 1, -1);
	PUT_COLUMN(out, "category", n,
		   profile->locations[tables->frames[stacks[i].frame].location].kind, NEVER_NULL);
	PUT_COLUMN(out, "subcategory", n, 0, NEVER_NULL);
	n = tables->n_resources;
	fprintf(out, "},\n\"resourceTable\":{\"length\":%zu", n);
	PUT_COLUMN(out, "lib", n, (int64_t)tables->resources[i] - 1, NEVER_NULL);
	PUT_COLUMN(out, "name", n,
		   used_names_index(&tables->strings, profile->modules[tables->resources[i]].path),
		   NEVER_NULL);
	PUT_COLUMN(out, "host", n, -1, -1);
	PUT_COLUMN(out, "type", n, RESOURCE_TYPE_LIBRARY, NEVER_NULL);
	fputs("},\n\"nativeSymbols\":{\"length\":0,\"libIndex\":[],\"address\":[],\"name\":[],"
	      "\"functionSize\":[]}",
	      out);
}

/* Milliseconds since the start. */
static double when(const struct firefox_writer *self, uint64_t time)
{
	uint64_t start = self->profile->stacks->hello.start_time;

	return time > start ? (time - start) / (double)NANOSECONDS_A_MILLISECOND : 0;
}

/* Times are in milliseconds. */
static void put_weights(struct firefox_writer *self, const struct profile_thread_samples *samples)
{
	bool is_time = view_is_time(&self->profile->stacks->events, self->view);
	FILE *out = self->out;

	putc('[', out);
	for (size_t i = 0; i < samples->n; i++) {
		uint64_t n = profile_amount(self->profile, self->view,
					    &self->profile->samples[samples->list[i]]);

		fputs(i ? "," : "", out);
		if (is_time)
			fprintf(out, "%.6f", n / (double)NANOSECONDS_A_MILLISECOND);
		else
			fprintf(out, "%" PRIu64, n);
	}
	putc(']', out);
}

/* Writes the samples; this fills the other tables. */
static void put_samples(struct firefox_writer *self, const struct profile_thread_samples *samples,
			uint32_t *path)
{
	const struct profile *profile = self->profile;
	FILE *out = self->out;

	fprintf(out, ",\n\"samples\":{\"length\":%zu,\"weightType\":\"%s\",\"weight\":", samples->n,
		view_is_time(&profile->stacks->events, self->view) ? "tracing-ms" : "samples");
	if (self->view.kind == VIEW_SAMPLES && !profile->has_repeats)
		fputs("null", out);
	else
		put_weights(self, samples);
	PUT_COLUMN(out, "stack", samples->n,
		   (int64_t)find_stack(self, profile->samples[samples->list[i]].node, path) - 1,
		   -1);
	fputs(",\"time\":[", out);
	for (size_t i = 0; i < samples->n; i++) {
		const struct profile_sample *sample = &profile->samples[samples->list[i]];

		fprintf(out, i ? ",%.3f" : "%.3f", when(self, sample->time));
		sum_add(&self->n_put, profile_amount(profile, self->view, sample));
	}
	fputs("]}", out);
}

static void add_marker(struct firefox_writer *self, enum firefox_marker_kind kind, uint32_t number)
{
	if (GROWING_LIST_MAKE_ROOM(self->markers, self->n_markers) < 0)
		self->has_failed = true;
	else
		self->markers[self->n_markers++] = (struct firefox_marker){ kind, number };
}

/* Marks and losses go to the first thread: the profiler has no place for global markers. */
static void add_markers_of_all(struct firefox_writer *self)
{
	for (size_t i = 0; i < self->profile->n_losses; i++)
		add_marker(self, FIREFOX_LOSS, i);
	for (size_t i = 0; i < self->profile->n_marks; i++)
		add_marker(self, FIREFOX_MARK, i);
}

/* Sums of many waits have no time of their own, so they have no marker. */
static void add_waits(struct firefox_writer *self, const struct profile_thread_samples *samples)
{
	for (size_t i = 0; i < samples->n; i++) {
		uint8_t end = self->profile->samples[samples->list[i]].end;

		if (end != WIRE_stack_end_SHORT_WAITS && end != WIRE_stack_end_NO_STACK)
			add_marker(self, FIREFOX_WAIT, samples->list[i]);
	}
}

static void put_markers(struct firefox_writer *self, const struct profile_thread_samples *samples)
{
	self->n_markers = 0;
	if (!self->n_threads)
		add_markers_of_all(self);
	if (view_is_waits(&self->profile->stacks->events, self->view))
		add_waits(self, samples);
	firefox_markers_put(self->out, &self->reasons, &self->tables.strings, self->markers,
			    self->n_markers);
}

static void put_strings(struct firefox_writer *self)
{
	fputs(",\n\"stringArray\":[\"\"", self->out);
	for (size_t i = 1; i < self->tables.strings.n; i++) {
		putc(',', self->out);
		json_put_text(self->out, used_names_text(&self->tables.strings, i));
	}
	fputs("]}", self->out);
}

/* The number of earlier incarnations with the same PID. */
static size_t count_earlier(const struct profile *profile, uint32_t process)
{
	size_t n = 0;

	for (uint32_t i = 0; i < process; i++)
		n += profile->processes[i].pid == profile->processes[process].pid;
	return n;
}

/* Writes a thread in one view, because a thread has one type of weight. */
static void put_thread(struct firefox_writer *self, const struct profile_thread_samples *samples,
		       uint32_t *path)
{
	const struct profile *profile = self->profile;
	const struct profile_thread *thread = &profile->threads[samples->thread];
	const struct profile_process *process = &profile->processes[thread->process];
	size_t n_earlier = count_earlier(profile, thread->process);
	char name[256];
	FILE *out = self->out;

	if (begin_tables(&self->tables, &self->profile->stacks->names) < 0)
		self->has_failed = true;
	fputs("{\"processType\":\"default\",\"processStartupTime\":0,\"processShutdownTime\":null,"
	      "\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],\"name\":",
	      out);
	snprintf(name, sizeof(name), self->view.kind == VIEW_SAMPLES ? "%.*s" : "%.*s (%s)",
		 THREAD_NAME_SHOWN, profile_text(profile, thread->name),
		 view_name(&profile->stacks->events, self->view));
	json_put_text(out, name);
	fputs(",\"processName\":", out);
	json_put_text(out, profile_text(profile, process->name));
	fprintf(out, ",\"isMainThread\":%s,\"pid\":\"%" PRIu32,
		thread->tid == process->pid ? "true" : "false", process->pid);
	if (n_earlier)
		fprintf(out, ".%zu", n_earlier);
	fprintf(out, "\",\"tid\":%" PRIu32, thread->tid);
	if (!self->has_failed) {
		put_samples(self, samples, path);
		put_markers(self, samples);
		put_frames(self);
		put_functions(self);
		put_stacks_and_resources(self);
		put_strings(self);
	}
	self->has_failed |= self->tables.strings.has_failed;
	end_tables(&self->tables);
}

static void put_meta(struct firefox_writer *self)
{
	const struct wire_hello *hello = &self->profile->stacks->hello;
	uint32_t program = profile_program_name(self->profile);
	char remark[512];
	FILE *out = self->out;

	fprintf(out,
		"{\"meta\":{\"interval\":%.6f,\"startTime\":%.3f,\"processType\":0,\"stackwalk\":1,"
		"\"debug\":false,\"version\":%d,\"preprocessedProfileVersion\":%d,\"platform\":"
		"\"Linux\",\"oscpu\":\"Linux\",\"toolkit\":\"\",\"misc\":\"\",\"abi\":\"\","
		"\"symbolicated\":true,\"extensions\":{\"length\":0,\"id\":[],"
		"\"name\":[],\"baseURL\":[]},\"markerSchema\":",
		hello->rate ? 1000.0 / hello->rate : 1,
		hello->start_unix_time / (double)NANOSECONDS_A_MILLISECOND, GECKO_VERSION,
		PROCESSED_VERSION);
	firefox_markers_put_schemas(out);
	fputs(",\"product\":", out);
	json_put_text(out, program ? profile_text(self->profile, program) : hello->host);
	fputs(",\"importedFrom\":\"stackpipe " STACKPIPE_VERSION "\",\"categories\":["
	      "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"JIT\",\"color\":\"green\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
	      "{\"name\":\"Script\",\"color\":\"blue\",\"subcategories\":[\"Other\"]}],"
	      "\"extra\":[{\"label\":\"stackpipe\",\"entries\":[",
	      out);
	for (uint32_t i = 0; export_remark(self->export, i, remark, sizeof(remark)); i++) {
		fprintf(out, "%s{\"label\":\"%" PRIu32 "\",\"format\":\"string\",\"value\":",
			i ? "," : "", i + 1);
		json_put_text(out, remark);
		putc('}', out);
	}
	fputs("]}]},\n", out);
}

static void put_library(FILE *out, const char *path, const char *build_id, const char *arch)
{
	const char *const members[] = { "name", "debugName", "path", "debugPath" };

	for (size_t i = 0; i < 4; i++) {
		fprintf(out, "%s\"%s\":", i ? "," : "\n{", members[i]);
		json_put_text(out, i < 2 ? text_last_part(path) : path);
	}
	fprintf(out, ",\"breakpadId\":\"\",\"arch\":\"%s\",\"codeId\":", arch);
	if (*build_id)
		json_put_text(out, build_id);
	else
		fputs("null", out);
	putc('}', out);
}

static void put_libraries(struct firefox_writer *self)
{
	const struct profile *profile = self->profile;
	const struct arch *arch = arch_find(profile->stacks->hello.machine);
	FILE *out = self->out;

	fputs("\"libs\":[", out);
	for (size_t i = 1; i < profile->n_modules; i++) {
		const struct profile_module *module = &profile->modules[i];

		fputs(i > 1 ? "," : "", out);
		put_library(out, profile_text(profile, module->path),
			    profile_text(profile, module->build_id), arch ? arch->name : "");
	}
	fputs("],\n", out);
}

/* Appends the threads of a view. */
static int put_threads(struct firefox_writer *self, struct view view, uint32_t *path)
{
	_cleanup_(profile_threads_deinit) struct profile_threads threads = { 0 };
	int r = profile_threads_init(&threads, self->profile, view);

	self->view = view;
	self->n_put = 0;
	for (size_t i = 0; i < threads.n && r == 0 && (threads.list[i].n || !self->n_threads);
	     i++) {
		fputs(self->n_threads ? ",\n" : "\n", self->out);
		put_thread(self, &threads.list[i], path);
		r = self->has_failed ? -ENOMEM : 0;
		self->n_threads++;
	}
	return r < 0 ? r : profile_check_sum(self->profile, view, self->n_put);
}

/* Whether threads are written again for a view. For event 0 its samples stand for its time. */
static bool is_emitted(const struct events *events, struct view view)
{
	return view.kind == VIEW_SAMPLES ||
	       (events->n > 1 && (view.event || view.kind == VIEW_WALL));
}

static int put_all(struct firefox_writer *self)
{
	const struct events *events = &self->profile->stacks->events;
	_cleanup_free_ uint32_t *path = calloc(self->profile->n_nodes, sizeof(*path));
	struct view views[VIEWS_MAX];
	size_t n_views = events_views(events, views);
	int r = path ? 0 : -ENOMEM;

	put_meta(self);
	put_libraries(self);
	fputs("\"pages\":[],\"counters\":[],\"threads\":[", self->out);
	for (size_t i = 0; i < n_views && r == 0; i++)
		if (is_emitted(events, views[i]))
			r = put_threads(self, views[i], path);
	fputs("]}\n", self->out);
	return r;
}

static int write_file(const struct export *export)
{
	struct firefox_writer self = { .export = export, .profile = export->profile };
	int closed, r = wait_reasons_init(&self.reasons, export->profile);
	if (r < 0)
		return r;
	self.out = output_stream_open(export->output, OUTPUT_PLAIN);
	r = self.out ? put_all(&self) : -ENOMEM;
	closed = self.out ? output_stream_close(self.out) : 0;
	wait_reasons_deinit(&self.reasons);
	free(self.markers);
	return r < 0 ? r : closed;
}

const struct format format_firefox = {
	.wants = RECORDER_LOSSES | RECORDER_MARKS,
	.write = write_file,
};
