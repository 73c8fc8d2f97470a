/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture-sink: writes a stream to a file that viewers open; the file's name selects the format. */
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture-sink/capture-sink.h"
#include "common/base/clock.h"
#include "common/base/container-of.h"
#include "common/stage/sandbox.h"
#include "formats/page-base.h"
#include "profile/interpreter-frames.h"

enum {
	KEY_FORCE = 0x100,
	KEY_KEEP_OLD,
	KEY_BASE,
	KEY_HEAP,
	KEY_VIEW,
	KEY_TID,
	KEY_INTERPRETER,
	KEY_RESOURCE,
};

/* Reports a failed write, and converts its error for the runtime (stage.h). */
static int result(struct stage *stage, const struct capture_sink *self, int r)
{
	if (r >= 0 || (r == -EPIPE && !strcmp(self->path, "-"))) /* `| head` is not an error */
		return r;
	if (r == -ENOTRECOVERABLE) {
		stage_error(stage,
			    "the content of '%s' does not match the input: this is a bug in "
			    "stackpipe, please report it",
			    self->path);
		return -ECANCELED;
	}
	stage_error(stage, "could not write '%s': %s%s", self->path, strerror(-r),
		    self->output.n_written ? "; it ends after its last complete record" : "");
	return -ECANCELED;
}

static int refuse_path(struct stage *stage, const struct capture_sink *self, int error)
{
	if (error == -EEXIST)
		stage_error(stage, "'%s' exists: choose another name, or use --force", self->path);
	else
		stage_error(stage, "could not create '%s': %s", self->path, strerror(-error));
	return -ECANCELED;
}

static int read_base(struct stage *stage, struct capture_sink *self)
{
	int r = page_base_read(self->base_path, &self->base, &self->base_size);

	if (r < 0)
		stage_error(stage, "could not read '%s': %s", self->base_path,
			    r == -EBADMSG ? "it is not a page written by stackpipe" : strerror(-r));
	return r < 0 ? -ECANCELED : 0;
}

/* Checks that are possible before there is input. */
static int check_output(struct stage *stage, void *data)
{
	struct capture_sink *self = data;
	int r;

	if (!strcmp(self->path, "-") && isatty(STDOUT_FILENO) && !self->format->is_for_terminals) {
		stage_error(stage, "standard output is a terminal: name an output file");
		stage->exit_status = STAGE_EXIT_USAGE;
		return -ECANCELED;
	}
	r = output_file_check(self->path, self->mode);
	if (r < 0)
		return refuse_path(stage, self, r);
	return self->base_path ? read_base(stage, self) : 0;
}

static int start_writer(struct capture_sink *self)
{
	const struct stream_format *stream = self->format->stream;

	self->writer = calloc(1, stream->size);
	return self->writer ? stream->begin(self->writer, self->stage,
					    &self->recording.recorder.stacks, &self->output)
			    : -ENOMEM;
}

/* The input is a stream: creates the file, under another name if one exists (new-file.h). */
static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct capture_sink *self = data;
	const struct format *format = self->format;
	int r = output_open(&self->output, self->path, self->mode);

	if (r < 0)
		return refuse_path(stage, self, r);
	self->stage = stage;
	self->recording.recorder.wants = format->wants;
	self->recording.recorder.stacks.names.keeps_lines = true;
	/* A format that follows the stream keeps all frames; then this is for the summary. */
	self->recording.recorder.stacks.hides_interpreters =
		self->has_interpreter ? self->hides_interpreters
				      : format->stream || format->hides_interpreters;
	if (recorder_start(stage, &self->recording.recorder, hello) < 0)
		return -ENOMEM;
	self->counted.keeps_rare = format->is_of_counts;
	view_counts_start(&self->counted, &self->recording.recorder.stacks);
	if (format->keeps_history)
		history_keep(&self->recording.heap);
	return format->stream ? result(stage, self, start_writer(self)) : 0;
}

static struct capture_sink *sink_of(struct stacks *stacks)
{
	return container_of(stacks, struct capture_sink, recording.recorder.stacks);
}

static int add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	struct capture_sink *self = sink_of(stacks);
	const struct stream_format *stream = self->format->stream;

	return result(stage, self,
		      stream ? stream->add_frame(self->writer, stack, frame, name, ret_value)
			     : recorder_add_frame(stage, stacks, stack, frame, name, ret_value));
}

static int add_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     uint64_t *ret_value)
{
	struct capture_sink *self = sink_of(stacks);
	const struct format *format = self->format;
	uint64_t node;
	int r = view_counts_add(&self->counted, stage, stacks, stack);

	if (r == 0 && format->stream)
		r = format->stream->add_stack(self->writer, stack);
	else if (r == 0 && !format->is_of_counts)
		r = profile_add_stack(&self->recording.recorder.profile, stack, &node);
	return result(stage, self, r);
}

/* Only formats that are written at the end need a node of the profile. */
static int add_heap_stack(struct stage *stage, struct stacks *stacks,
			  const struct named_stack *stack, const struct wire_heap_stack *record)
{
	struct capture_sink *self = sink_of(stacks);
	const struct stream_format *stream = self->format->stream;
	int r;

	if (!stream)
		return result(stage, self, heap_recorder_add_stack(stage, stacks, stack, record));
	r = stream->add_heap_stack(self->writer, stack, record);
	if (r == 0)
		r = heap_add_stack(&self->recording.heap, record, 0, 0);
	return result(stage, self, r);
}

static int exit_process(struct stage *stage, struct stacks *stacks, const struct process *process,
			uint64_t time)
{
	struct capture_sink *self = sink_of(stacks);
	const struct stream_format *stream = self->format->stream;

	return stream ? result(stage, self, stream->exit_process(self->writer, process, time)) : 0;
}

static int note_lost(struct stage *stage, struct capture_sink *self, const struct wire_lost *lost)
{
	stage_sum(stage, &self->progress.n_lost, lost->n);
	return recorder_handle_lost(stage, &self->recording.recorder, lost);
}

/* Records a record; then passes it to a format that follows the stream. */
#define HANDLE(record, recorded)                                                                   \
	static int handle_##record(struct stage *stage, void *data, const void *view)              \
	{                                                                                          \
		struct capture_sink *self = data;                                                  \
		const struct stream_format *stream = self->format->stream;                         \
		int r = recorded;                                                                  \
                                                                                                   \
		if (r == 0 && stream && stream->add_##record)                                      \
			r = stream->add_##record(self->writer, view);                              \
		return result(stage, self, r);                                                     \
	}

HANDLE(heap_events, heap_recorder_handle_heap_events(stage, &self->recording, view))
HANDLE(heap_lost, heap_recorder_handle_heap_lost(stage, &self->recording, view))
HANDLE(mark, recorder_handle_mark(stage, &self->recording.recorder, view))
HANDLE(counter, recorder_handle_counter(stage, &self->recording.recorder, view))
HANDLE(counter_values, recorder_handle_counter_values(stage, &self->recording.recorder, view))
HANDLE(thread_time, recorder_handle_thread_time(stage, &self->recording.recorder, view))
HANDLE(resource_attribute,
       recorder_handle_resource_attribute(stage, &self->recording.recorder, view))
HANDLE(trace_context, recorder_handle_trace_context(stage, &self->recording.recorder, view))
HANDLE(trace_attribute, recorder_handle_trace_attribute(stage, &self->recording.recorder, view))
HANDLE(message, recorder_handle_message(stage, &self->recording.recorder, view))
HANDLE(lost, note_lost(stage, self, view))
HANDLE(file, 0)

/* Keeps the images with the most samples. */
static void add_without_debug(struct capture_sink *self, const struct wire_count *count)
{
	struct counted_image image = {
		.n_samples = count->value,
		.name = names_intern(&self->recording.recorder.stacks.names, count->name.data,
				     count->name.size),
	};

	for (size_t i = 0; i < IMAGES_SHOWN; i++) {
		struct counted_image next = self->without_debug[i];

		if (image.n_samples <= next.n_samples)
			continue;
		self->without_debug[i] = image;
		image = next;
	}
}

static int handle_count(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct wire_count *count = view;

	if (!strcmp(count->group.data, "no-debug-info"))
		add_without_debug(self, count);
	return stacks_handle_count(stage, &self->recording.recorder.stacks, view);
}

static int handle_event(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	int r = stacks_handle_event(stage, &self->recording.recorder.stacks, view);

	view_counts_find_view(&self->counted, &self->recording.recorder.stacks.events);
	return r;
}

/* Flushes, so that data is in the file after at most one second, even after a crash. */
static int tick(struct stage *stage, void *data)
{
	struct capture_sink *self = data;
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r;

	if (!self->stage) /* the stream has not begun */
		return 0;
	progress_show(self);
	if (now - self->flushed_time < NANOSECONDS_A_SECOND / 2)
		return 0;
	self->flushed_time = now;
	r = output_flush(&self->output);
	if (r == 0 && stage->samples_in)
		output_note_content(&self->output);
	return result(stage, self, r);
}

static int refuse_view(struct stage *stage, const struct capture_sink *self)
{
	char names[EVENTS_VIEW_NAMES];

	events_view_names(&self->recording.recorder.stacks.events, names);
	stage_error(stage, "this recording has no view '%s'; it has: %s", self->counted.view_name,
		    names);
	return -ECANCELED;
}

/* The file is worth keeping if it has samples. */
static void note_content(struct capture_sink *self)
{
	if (self->stage && self->stage->samples_in && self->output.n_written)
		output_note_content(&self->output);
}

/* The file of a cut stream is closed as unfinished (new-file.h). */
static int close_output(struct capture_sink *self, enum stage_stream_end end)
{
	int r = output_flush(&self->output);

	note_content(self);
	if (r < 0)
		return r;
	return end == STAGE_STREAM_WHOLE ? output_close(&self->output)
					 : output_abandon(&self->output);
}

static int write_recording(struct capture_sink *self, bool is_whole)
{
	const struct export export = {
		.profile = &self->recording.recorder.profile,
		.heap = &self->recording.heap,
		.counts = &self->counted,
		.counters = &self->stage->counters,
		.is_whole = is_whole,
		.has_ids = self->counted.emits_tid,
		.attributes = self->attributes,
		.n_attributes = self->n_attributes,
		.base = self->base,
		.base_size = self->base_size,
		.output = &self->output,
	};
	int r = 0;

	if (self->format->stream)
		return self->format->stream->end(self->writer, is_whole);
	if (export_is_heap(&export))
		r = heap_profile_select(&self->recording.heap, &self->recording.recorder.profile,
					self->heap_metric, self->heap_unit);
	return r < 0 ? r : self->format->write(&export);
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct capture_sink *self = data;
	int r;

	progress_clear(self);
	r = recorder_finish(&self->recording.recorder, stage);
	heap_finish(&self->recording.heap, stage->end_time);
	if (r == 0)
		r = view_counts_finish(&self->counted, &self->recording.recorder.stacks.names);
	if (r == 0)
		r = write_recording(self, end == STAGE_STREAM_WHOLE);
	if (r == 0)
		r = close_output(self, end);
	r = result(stage, self, r);
	if (!stage->quiet && r == 0)
		summary_print(self, end);
	if (r >= 0 && !self->counted.has_view)
		r = refuse_view(stage, self);
	return r < 0 ? r : 0;
}

/* false: there is no such amount. */
static bool parse_heap(struct capture_sink *self, const char *text)
{
	size_t size = strcspn(text, ":");

	self->heap_unit = text[size] ? HEAP_BLOCKS : HEAP_BYTES;
	for (int metric = 0; metric < HEAP_METRICS; metric++) {
		const char *name = heap_metric_name(metric);

		if (name && strlen(name) == size && !strncmp(text, name, size)) {
			self->heap_metric = metric;
			return !text[size] || !strcmp(text + size, ":blocks");
		}
	}
	return false;
}

/* "KEY=VALUE", which it takes apart. */
static void add_resource_attribute(struct capture_sink *self, char *text, struct argp_state *state)
{
	char *value = strchr(text, '=');

	if (!value || value == text || !value[1])
		stage_usage_error(state, "--resource takes KEY=VALUE, not '%s'", text);
	if (self->n_attributes == RESOURCE_ATTRIBUTES_MAX)
		stage_usage_error(state, "--resource can be given at most %d times",
				  RESOURCE_ATTRIBUTES_MAX);
	*value++ = 0;
	self->attributes[self->n_attributes++] = (struct export_attribute){ text, value };
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct capture_sink *self = state->input;

	switch (key) {
	case 'f':
		self->format = format_find(arg);
		if (!self->format)
			stage_usage_error(state, "unknown format '%s': use " FORMATS_TEXT, arg);
		return 0;
	case KEY_FORCE:
		self->mode = OUTPUT_FILE_REPLACE;
		return 0;
	case KEY_KEEP_OLD:
		self->mode = OUTPUT_FILE_KEEP_OLD;
		return 0;
	case KEY_BASE:
		self->base_path = arg;
		return 0;
	case KEY_HEAP:
		if (!parse_heap(self, arg))
			stage_usage_error(
				state,
				"--heap takes peak, leaks, allocated, temporary or foreign, "
				"optionally with :blocks, not '%s'",
				arg);
		return 0;
	case KEY_VIEW:
		self->counted.view_name = arg;
		return 0;
	case KEY_TID:
		self->counted.emits_tid = true;
		return 0;
	case KEY_RESOURCE:
		add_resource_attribute(self, arg, state);
		return 0;
	case KEY_INTERPRETER:
		self->has_interpreter = true;
		if (!interpreter_frames_parse(arg, &self->hides_interpreters))
			stage_usage_error(
				state, "--interpreter takes " INTERPRETER_WORDS ", not '%s'", arg);
		return 0;
	case ARGP_KEY_ARG:
		if (self->path)
			stage_usage_error(
				state, "unexpected argument '%s': only one OUTPUT is allowed", arg);
		self->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!self->path)
			stage_usage_error(
				state, "missing OUTPUT: name a file such as out.syscap, or - for "
				       "standard output");
		if (!self->format)
			self->format = format_of_path(self->path);
		if (!self->format)
			stage_usage_error(state,
					  "the name '%s' implies no format: end it in " FORMATS_TEXT
					  ", or use -f",
					  self->path);
		if (self->base_path && self->format != &format_html)
			stage_usage_error(state, "--base requires a page (.html) as OUTPUT");
		if (self->counted.emits_tid && self->format != &format_folded &&
		    self->format != &format_otlp)
			stage_usage_error(
				state,
				"--tid requires folded stacks or OTLP as OUTPUT: other formats "
				"always keep threads apart");
		if (self->n_attributes && self->format != &format_otlp)
			stage_usage_error(state, "--resource requires OTLP as OUTPUT");
		if (self->hides_interpreters && self->format->stream)
			stage_usage_error(state,
					  "--interpreter=hide is not for .%s, which keeps all "
					  "frames: readers hide them",
					  format_name(self->format));
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void init(void *data)
{
	static const struct stacks_user user = {
		.add_frame = add_frame,
		.add_stack = add_stack,
		.add_heap_stack = add_heap_stack,
		.exit_process = exit_process,
	};
	struct capture_sink *self = data;

	heap_recorder_init(&self->recording);
	self->recording.recorder.stacks.user = &user;
}

static void deinit(void *data)
{
	struct capture_sink *self = data;

	if (self->writer)
		self->format->stream->free(self->writer);
	free(self->writer);
	/* The stage may have failed after some samples. */
	note_content(self);
	output_abandon(&self->output);
	view_counts_deinit(&self->counted);
	free(self->base);
	heap_recorder_deinit(&self->recording);
}

static const struct argp_option option_table[] = {
	{ "base", KEY_BASE, "PAGE", 0,
	  "Include the profile of PAGE, written earlier by stackpipe, for comparison (html only; "
	  "default: none)",
	  0 },
	{ "format", 'f', "FORMAT", 0,
	  "Output format: " FORMATS_TEXT " (default: by the suffix of OUTPUT)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace OUTPUT if it exists (default: fail)", 0 },
	{ "interpreter", KEY_INTERPRETER, "WORD", 0,
	  "Whether to hide or show an interpreter's own functions that run a script's (default: hide "
	  "in html, show in others)",
	  0 },
	{ "keep-old", KEY_KEEP_OLD, NULL, 0,
	  "Replace OUTPUT and keep the existing file as OUTPUT.old", 0 },
	{ "heap", KEY_HEAP, "AMOUNT", 0,
	  "Heap amount in formats with one value per stack: peak (default), leaks, allocated, "
	  "temporary or foreign, in bytes; AMOUNT:blocks counts blocks",
	  0 },
	{ "resource", KEY_RESOURCE, "KEY=VALUE", 0,
	  "Add an attribute to each resource that has not published its own: service.name, "
	  "service.namespace, host.id, … (otlp only; default: what is known)",
	  0 },
	{ "tid", KEY_TID, NULL, 0,
	  "Keep threads apart: as NAME-PID/TID (folded), or by attributes with their IDs (otlp; "
	  "default: merge threads of the same name)",
	  0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "View in the summary and in formats with one value per stack: samples, on-cpu, off-cpu, "
	  "wakeups, wall-clock (microseconds), or an event's name (default: wall-clock if there "
	  "are waits, else samples)",
	  0 },
	{ 0 },
};

#define HANDLER(record) { WIRE_RECORD_##record, handle_##record },
static const struct stage_handler handlers[] = {
	/* These precede and call the shared handlers of the same records. */
	{ WIRE_RECORD_count, handle_count },
	{ WIRE_RECORD_event, handle_event },
	STREAM_FORMAT_RECORDS(HANDLER)
		HEAP_RECORDER_HANDLERS(offsetof(struct capture_sink, recording)),
	{ 0 },
};

/* The output is open by then. */
static void describe_sandbox(const void *data, struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(pwrite64), SCMP_SYS(ftruncate), SCMP_SYS(ioctl));
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "capture-sink",
		.arguments = "OUTPUT",
		.summary = "Writes a stream to a file; the file name selects the format.",
		.role = STAGE_SINK,
		.self_size = sizeof(struct capture_sink),
		.options = option_table,
		.parse_option = parse_option,
		.handlers = handlers,
		.init = init,
		.open = check_output,
		.start = start,
		.describe_sandbox = describe_sandbox,
		.tick = tick,
		.finish = finish,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
