/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture-sink: writes a stream as a file that people open; the format follows the name. */
#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/page-base.h"
#include "capture-sink/progress.h"
#include "common/base/clock.h"
#include "common/stage/sandbox.h"

enum {
	KEY_FORCE = 0x100,
	KEY_KEEP_OLD,
	KEY_BASE,
	KEY_HEAP,
	KEY_VIEW,
	KEY_TID,
	COUNTED_FOR_SUMMARY = 1 << 14, /* distinct stacks; the rare ones make room */
	THREAD_TEXT = 128,
};

#define FORMATS "syscap, html, folded, pb.gz, speedscope.json, firefox.json or otlp"

struct capture_sink {
	struct capture capture; /* first: it begins with the stacks */
	enum output_file_mode mode;
	enum stage_stream_end end;
	uint32_t counted[STACK_COUNT_NAMES_MAX];
};

/* Says what became of a write, and makes it an answer to the runtime. */
static int result(struct stage *stage, const struct capture *capture, int r)
{
	if (r >= 0 || (r == -EPIPE && !strcmp(capture->path, "-"))) /* `| head` is no error */
		return r;
	if (r == -ENOTRECOVERABLE) {
		stage_error(stage,
			    "error: what '%s' holds is not what came: this is a defect of "
			    "stackpipe, please report it",
			    capture->path);
		return -ECANCELED;
	}
	stage_error(stage, "error: could not write '%s': %s%s", capture->path, strerror(-r),
		    capture->output.n_written ? "; it ends behind its last whole record" : "");
	return -ECANCELED;
}

static int refuse_path(struct stage *stage, const struct capture *capture, int error)
{
	if (error == -EEXIST)
		stage_error(stage, "error: '%s' exists: choose another name, or --force",
			    capture->path);
	else
		stage_error(stage, "error: could not create '%s': %s", capture->path,
			    strerror(-error));
	return -ECANCELED;
}

static int read_base(struct stage *stage, struct capture *capture)
{
	int r = page_base_read(capture->base_path, &capture->base, &capture->base_size);

	if (r < 0)
		stage_error(stage, "error: could not read '%s': %s", capture->base_path,
			    r == -EBADMSG ? "it is no page that stackpipe has written"
					  : strerror(-r));
	return r < 0 ? -ECANCELED : 0;
}

/* What can be said before there is any input. */
static int check_output(struct stage *stage, void *data)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	int r;

	if (!strcmp(capture->path, "-") && isatty(STDOUT_FILENO) &&
	    capture->format != &format_folded) {
		stage_error(stage, "standard output is a terminal: name a file");
		stage->exit_status = STAGE_EXIT_USAGE;
		return -ECANCELED;
	}
	r = output_file_check(capture->path, self->mode);
	if (r < 0)
		return refuse_path(stage, capture, r);
	return capture->base_path ? read_base(stage, capture) : 0;
}

/* Events are told before the first stack: as soon as there is one of that name, it is counted. */
static void find_view(struct capture *capture)
{
	const struct events *events = &capture->stacks.events;

	if (capture->view_name) {
		capture->has_view = view_find(events, capture->view_name, &capture->view);
		return;
	}
	/* Whoever records waits wants to know where all the time goes. */
	capture->has_view =
		(events_have_waits(events) && view_find(events, "wall-clock", &capture->view)) ||
		view_find(events, "samples", &capture->view);
}

/* The input has turned out to be a stream: now the file is made, beside one that is there. */
static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	int r = output_open(&capture->output, capture->path, self->mode);

	if (r < 0)
		return refuse_path(stage, capture, r);
	capture->stage = stage;
	capture->format_data = calloc(1, capture->format->data_size + 1);
	if (!capture->format_data || stacks_start(&capture->stacks, hello) < 0)
		return -ENOMEM;
	find_view(capture);
	if (capture->format->keeps_history)
		history_keep(&capture->heap);
	if (capture->format->begin)
		r = capture->format->begin(capture);
	return result(stage, capture, r);
}

/* The names of a stack's frames, the outermost first: how many. */
static size_t put_names(struct capture *capture, const struct named_stack *stack, uint32_t *ret)
{
	size_t n = 0, n_inlined = 0;

	for (size_t i = 0; i < stack->record->frames.n; i++) {
		size_t n_names;
		const uint32_t *list =
			names_of_label(&capture->stacks.names, &stack->frames[i].label, &n_names);

		if (n_inlined + n_names - 1 > STACK_COUNT_INLINED_MAX) {
			++*counters_get(&capture->stage->counters, "refused", "inlined-calls");
			n_names = 1;
		}
		n_inlined += n_names - 1;
		for (size_t k = 0; k < n_names; k++)
			ret[n++] = list[k];
	}
	return n;
}

/* As stackcollapse-perf.pl calls a thread with --tid: "comm-PID/TID". */
static uint32_t name_single_thread(struct capture *capture, const struct named_stack *stack,
				   uint32_t name)
{
	const char *comm = names_text(&capture->stacks.names, name);
	uint32_t pid = stack->process ? stack->process->pid : 0, tid = stack->record->tid;
	char text[THREAD_TEXT];
	int size = snprintf(text, sizeof(text), "%.64s-%" PRIu32 "/%" PRIu32, comm, pid, tid);

	return names_intern(&capture->stacks.names, text, size);
}

static uint32_t name_thread(struct capture *capture, const struct named_stack *stack)
{
	uint32_t name = names_of_thread(&capture->stacks.names, stack->process,
					stack->record->process, stack->record->tid);

	return capture->tells_tid ? name_single_thread(capture, stack, name) : name;
}

/*
 * Of a wait, who has called the kernel: the innermost frame of the program that has a name;
 * `otherwise`: none has.
 */
static uint32_t name_waiter(const struct capture *capture, const struct named_stack *stack,
			    uint32_t otherwise)
{
	for (size_t i = stack->record->frames.n; i-- > 0;) {
		const struct named_frame *frame = &stack->frames[i];
		const uint32_t *list;
		size_t n;

		if (frame->flags & WIRE_frame_flags_KERNEL)
			continue;
		list = names_of_label(&capture->stacks.names, &frame->label, &n);
		if (*names_text(&capture->stacks.names, list[n - 1]) != '[')
			return list[n - 1];
	}
	return otherwise;
}

/* One line of the counts: the thread, why the stack is cut, its frames from the outermost. */
static int count_stack(struct capture_sink *self, const struct named_stack *stack)
{
	struct capture *capture = &self->capture;
	const struct wire_stack *record = stack->record;
	uint64_t amount = capture->has_view ? view_amount(&capture->stacks.events, capture->view,
							  record->event, wire_stack_samples(record),
							  record->weight)
					    : 0;
	bool is_wait = events_is_wait(&capture->stacks.events, record->event);
	char reason[STACKS_END_TEXT];
	uint32_t leaf;
	size_t n = 0;

	if (is_wait) {
		sum_add(&capture->n_waits, wire_stack_samples(record));
		sum_add(&capture->waited_ns, record->weight);
	} else if (event_is_clock(&capture->stacks.events, record->event)) {
		sum_add(&capture->on_cpu_ns, record->weight);
	}
	if (events_is_wakeup(&capture->stacks.events, record->event))
		sum_add(&capture->n_wakeups, wire_stack_samples(record));
	if (!amount)
		return 0;
	stage_sum(capture->stage, &capture->n_counted, amount);
	self->counted[n++] = name_thread(capture, stack);
	if (stacks_end_text(record->end, reason))
		self->counted[n++] = names_intern(&capture->stacks.names, reason, strlen(reason));
	n += put_names(capture, stack, self->counted + n);
	leaf = self->counted[n - 1];
	if (is_wait)
		leaf = name_waiter(capture, stack, leaf);
	/* The summary alone wants them: what is rare is not in it. */
	if (capture->format->add_stack && capture->counts.n >= COUNTED_FOR_SUMMARY)
		stack_counts_forget_rare(&capture->counts);
	if (leaf_counts_add(&capture->leaves, leaf, capture->stacks.names.n, amount) < 0)
		return -ENOMEM;
	return stack_counts_add_many(&capture->counts, self->counted, n, amount);
}

static int add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	struct capture *capture = (void *)stacks;
	const struct format *format = capture->format;

	return format->add_frame ? result(stage, capture,
					  format->add_frame(capture, stack, frame, name, ret_value))
				 : 0;
}

static int add_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     uint64_t *ret_value)
{
	struct capture *capture = (void *)stacks;
	int r = count_stack((void *)stacks, stack);

	if (r == 0 && capture->format->add_stack)
		r = capture->format->add_stack(capture, stack);
	return result(stage, capture, r);
}

static int add_heap_stack(struct stage *stage, struct stacks *stacks,
			  const struct named_stack *stack, const struct wire_heap_stack *record)
{
	struct capture *capture = (void *)stacks;
	const struct format *format = capture->format;
	int r = format->add_heap_stack ? format->add_heap_stack(capture, stack, record)
				       : heap_add_stack(&capture->heap, record, 0, 0);

	return result(stage, capture, r);
}

static int handle_heap_begin(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;

	return heap_begin(&self->capture.heap, view);
}

static int handle_heap_events(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	const struct wire_heap_events *events = view;
	int r = heap_add_events(&capture->heap, events);

	stage_sum(stage, &stage->samples_out, events->n);
	stage->has_full_sum |= heap_is_full(&capture->heap);
	if (r == 0 && capture->format->add_heap_events)
		r = capture->format->add_heap_events(capture, events);
	return result(stage, capture, r);
}

static int handle_heap_lost(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	const struct process_table *processes = &capture->stacks.identity.processes;
	const struct wire_heap_lost *lost = view;
	int r;

	r = heap_add_lost(&capture->heap, lost, process_table_find(processes, lost->process));
	stage->has_full_sum |= heap_is_full(&capture->heap);
	if (r == 0 && capture->format->add_heap_lost)
		r = capture->format->add_heap_lost(capture, view);
	return result(stage, capture, r);
}

static int exit_process(struct stage *stage, struct stacks *stacks, const struct process *process,
			uint64_t time)
{
	struct capture *capture = (void *)stacks;
	const struct format *format = capture->format;

	heap_end_process(&capture->heap, process->number, time);
	return format->exit_process
		       ? result(stage, capture, format->exit_process(capture, process, time))
		       : 0;
}

/* What a format takes as it comes, if it takes it at all. */
#define HANDLE_BY_FORMAT(record)                                                                   \
	static int handle_##record(struct stage *stage, void *data, const void *view)              \
	{                                                                                          \
		struct capture *capture = &((struct capture_sink *)data)->capture;                 \
		const struct format *format = capture->format;                                     \
                                                                                                   \
		return format->add_##record                                                        \
			       ? result(stage, capture, format->add_##record(capture, view))       \
			       : 0;                                                                \
	}

HANDLE_BY_FORMAT(file)
HANDLE_BY_FORMAT(thread_time)
HANDLE_BY_FORMAT(mark)
HANDLE_BY_FORMAT(counter)
HANDLE_BY_FORMAT(counter_values)
HANDLE_BY_FORMAT(message)

static int handle_lost(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct format *format = self->capture.format;
	const struct wire_lost *lost = view;

	stage_sum(stage, &self->capture.progress.n_lost, lost->n);
	return format->add_lost
		       ? result(stage, &self->capture, format->add_lost(&self->capture, view))
		       : 0;
}

/* Keeps those that have the most samples. */
static void add_without_debug(struct capture *capture, const struct wire_count *count)
{
	struct counted_image image = {
		.n_samples = count->value,
		.name = names_intern(&capture->stacks.names, count->name.data, count->name.size),
	};

	for (size_t i = 0; i < CAPTURE_IMAGES_SHOWN; i++) {
		struct counted_image next = capture->without_debug[i];

		if (image.n_samples <= next.n_samples)
			continue;
		capture->without_debug[i] = image;
		image = next;
	}
}

static int handle_count(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct wire_count *count = view;

	if (!strcmp(count->group.data, "no-debug-info"))
		add_without_debug(&self->capture, count);
	return stacks_handle_count(stage, data, view);
}

static int handle_event(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	int r = stacks_handle_event(stage, data, view);

	find_view(&self->capture);
	return r;
}

/* What has come so far is in the file after a second at most, whatever happens then. */
static int tick(struct stage *stage, void *data)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	int r;

	if (!capture->stage) /* the stream has not begun */
		return 0;
	progress_show(capture);
	if (now - capture->flushed_time < NANOSECONDS_A_SECOND / 2)
		return 0;
	capture->flushed_time = now;
	r = output_flush(&capture->output);
	if (r == 0 && stage->samples_in)
		output_note_content(&capture->output);
	return result(stage, capture, r);
}

static uint32_t meaning(uint32_t name, void *arg)
{
	return names_meaning(arg, name);
}

static int refuse_view(struct stage *stage, const struct capture *capture)
{
	char names[EVENTS_VIEW_NAMES];

	events_view_names(&capture->stacks.events, names);
	stage_error(stage, "error: this recording has no view '%s'; it has: %s", capture->view_name,
		    names);
	return -ECANCELED;
}

/* What is in the file is worth to be kept, if there are samples in it. */
static void note_content(struct capture *capture)
{
	if (capture->stage && capture->stage->samples_in && capture->output.n_written)
		output_note_content(&capture->output);
}

/* Where the stream was cut, the file is no more than that. */
static int close_output(struct capture *capture, enum stage_stream_end end)
{
	int r = output_flush(&capture->output);

	note_content(capture);
	if (r < 0)
		return r;
	return end == STAGE_STREAM_WHOLE ? output_close(&capture->output)
					 : output_abandon(&capture->output);
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	int r;

	progress_clear(capture);
	stacks_finish(&capture->stacks, stage);
	heap_finish(&capture->heap, stage->end_time);
	r = stack_counts_rename(&capture->counts, meaning, &capture->stacks.names);
	if (r == 0)
		r = capture->format->end(capture, end);
	if (r == 0)
		r = close_output(capture, end);
	r = result(stage, capture, r);
	if (!stage->quiet && r == 0)
		summary_print_capture(capture, end);
	if (r >= 0 && !capture->has_view)
		r = refuse_view(stage, capture);
	return r < 0 ? r : 0;
}

/* false: there is no such amount. */
static bool parse_heap(struct capture *capture, const char *text)
{
	size_t size = strcspn(text, ":");

	capture->heap_unit = text[size] ? HEAP_BLOCKS : HEAP_BYTES;
	for (int metric = 0; metric < HEAP_METRICS; metric++) {
		const char *name = heap_metric_name(metric);

		if (name && strlen(name) == size && !strncmp(text, name, size)) {
			capture->heap_metric = metric;
			return !text[size] || !strcmp(text + size, ":blocks");
		}
	}
	return false;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct capture_sink *self = state->input;
	struct capture *capture = &self->capture;

	switch (key) {
	case 'f':
		capture->format = format_find(arg);
		if (!capture->format)
			stage_usage_error(state, "there is no format '%s': " FORMATS, arg);
		return 0;
	case KEY_FORCE:
		self->mode = OUTPUT_FILE_REPLACE;
		return 0;
	case KEY_KEEP_OLD:
		self->mode = OUTPUT_FILE_KEEP_OLD;
		return 0;
	case KEY_BASE:
		capture->base_path = arg;
		return 0;
	case KEY_HEAP:
		if (!parse_heap(capture, arg))
			stage_usage_error(state,
					  "--heap takes peak, leaks, allocated, temporary or "
					  "foreign, and :blocks if need be, not '%s'",
					  arg);
		return 0;
	case KEY_VIEW:
		capture->view_name = arg;
		return 0;
	case KEY_TID:
		capture->tells_tid = true;
		return 0;
	case ARGP_KEY_ARG:
		if (capture->path)
			stage_usage_error(state, "one output, not '%s' too", arg);
		capture->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!capture->path)
			stage_usage_error(state, "name the output, like out.syscap, or -");
		if (!capture->format)
			capture->format = format_of_path(capture->path);
		if (!capture->format)
			stage_usage_error(state,
					  "'%s' tells no format by its name: end it with " FORMATS
					  ", or use -f",
					  capture->path);
		if (capture->base_path && capture->format != &format_html)
			stage_usage_error(state, "--base is for a page (.html)");
		if (capture->tells_tid && capture->format != &format_folded)
			stage_usage_error(state, "--tid is for folded stacks: other formats tell "
						 "threads apart anyway");
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

	heap_init(&self->capture.heap);
	stacks_init(&self->capture.stacks, &user);
}

static void deinit(void *data)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;

	if (capture->format_data && capture->format->free)
		capture->format->free(capture);
	free(capture->format_data);
	/* It has failed behind some. */
	note_content(capture);
	output_abandon(&capture->output);
	stack_counts_deinit(&capture->counts);
	leaf_counts_deinit(&capture->leaves);
	heap_deinit(&capture->heap);
	free(capture->base);
	stacks_deinit(&capture->stacks);
}

static const struct argp_option option_table[] = {
	{ "base", KEY_BASE, "PAGE", 0, "Of html: compare with this page of stackpipe", 0 },
	{ "format", 'f', "FORMAT", 0, FORMATS ", whatever the name says", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace OUTPUT if it exists", 0 },
	{ "keep-old", KEY_KEEP_OLD, NULL, 0, "Call OUTPUT.old what is called OUTPUT", 0 },
	{ "heap", KEY_HEAP, "AMOUNT", 0,
	  "Of a heap, in formats that have one amount a stack: peak, leaks, allocated, temporary or "
	  "foreign, in bytes, or AMOUNT:blocks (peak)",
	  0 },
	{ "tid", KEY_TID, NULL, 0,
	  "Of folded stacks: each thread by itself, with PID and TID behind its name", 0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "Of several events, in formats that have one amount a stack, and in the summary: samples "
	  "(on the CPU), on-cpu, off-cpu, wakeups, wall-clock (time in microseconds), or an event's name",
	  0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_count, handle_count }, /* in front of the shared ones, which they call */
	{ WIRE_RECORD_event, handle_event },
	STACKS_HANDLERS(0),
	{ WIRE_RECORD_file, handle_file },
	{ WIRE_RECORD_thread_time, handle_thread_time },
	{ WIRE_RECORD_mark, handle_mark },
	{ WIRE_RECORD_counter, handle_counter },
	{ WIRE_RECORD_counter_values, handle_counter_values },
	{ WIRE_RECORD_message, handle_message },
	{ WIRE_RECORD_lost, handle_lost },
	{ WIRE_RECORD_heap_begin, handle_heap_begin },
	{ WIRE_RECORD_heap_events, handle_heap_events },
	{ WIRE_RECORD_heap_lost, handle_heap_lost },
	{ 0 },
};

/* Its output is open by then. */
static void describe_sandbox(const void *data, struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(pwrite64), SCMP_SYS(ftruncate), SCMP_SYS(ioctl));
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "capture-sink",
		.arguments = "OUTPUT",
		.summary = "Writes a stream as a file; its format follows its name.",
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
