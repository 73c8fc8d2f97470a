/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capture-sink: writes a stream as a file that people open; the format follows the name. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture-sink/capture.h"
#include "common/arch.h"
#include "common/clock.h"

enum {
	KEY_FORCE = 0x100,
	COUNTED_FOR_SUMMARY = 1 << 14, /* distinct stacks; the rare ones make room */
};

struct capture_sink {
	struct capture capture; /* first: it begins with the identity */
	enum output_mode mode;
	enum stage_stream_end end;
	struct wire_frame frames[WIRE_FRAMES_MAX]; /* of a sample that was not unwound */
	struct capture_frame stack_frames[WIRE_FRAMES_MAX];
	uint32_t counted[STACK_COUNT_NAMES_MAX];
};

/* Says what became of a write, and makes it an answer to the runtime. */
static int result(struct stage *stage, const struct capture *capture, int r)
{
	if (r >= 0)
		return r;
	stage_error(stage, "error: could not write '%s': %s; it ends behind its last whole record",
		    capture->path, strerror(-r));
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
	r = output_check(capture->path, self->mode);
	return r < 0 ? refuse_path(stage, capture, r) : 0;
}

/* The input has turned out to be a stream: now the file is made, or the one that is there goes. */
static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	int r = output_open(&capture->output, capture->path, self->mode);

	if (r < 0)
		return refuse_path(stage, capture, r);
	capture->stage = stage;
	capture->hello = *hello;
	capture->last_time = hello->start_time;
	capture->has_symbols = strstr(hello->stages, "symbolizer") != NULL;
	capture->format_data = calloc(1, capture->format->data_size + 1);
	if (!capture->format_data || frame_cache_init(&capture->frames) < 0)
		return -ENOMEM;
	if (capture->format->begin)
		r = capture->format->begin(capture);
	return result(stage, capture, r);
}

static void pass_time(struct capture *capture, uint64_t time)
{
	if (time > capture->last_time)
		capture->last_time = time;
}

/* The names of a stack's frames, the outermost first: how many. */
static size_t put_names(struct capture *capture, const struct capture_stack *stack, uint32_t *ret)
{
	size_t n = 0, n_inlined = 0;

	for (size_t i = 0; i < stack->record->frames.n; i++) {
		size_t n_names;
		const uint32_t *list =
			names_of_label(&capture->names, &stack->frames[i].label, &n_names);

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

/* One line of the counts: the thread, why the stack is cut, its frames from the outermost. */
static int count_stack(struct capture_sink *self, const struct capture_stack *stack)
{
	struct capture *capture = &self->capture;
	const struct wire_stack *record = stack->record;
	char reason[CAPTURE_END_TEXT];
	size_t n = 0;

	self->counted[n++] =
		names_of_thread(&capture->names, stack->process, record->process, record->tid);
	if (capture_end_text(record->end, reason))
		self->counted[n++] = names_intern(&capture->names, reason, strlen(reason));
	n += put_names(capture, stack, self->counted + n);
	capture->n_ends[record->end < CAPTURE_ENDS ? record->end : 0]++;
	/* The summary alone wants them: what is rare is not in it. */
	if (capture->format->add_stack && capture->counts.n >= COUNTED_FOR_SUMMARY)
		stack_counts_forget_rare(&capture->counts);
	return stack_counts_add(&capture->counts, self->counted, n);
}

/*
 * The name of a frame and what the format makes of it, from the cache if it was met before. A
 * name that the symbolizer still looks for is asked for again with the next stack.
 */
static int find_frame(struct capture *capture, const struct capture_stack *stack,
		      const struct wire_frame *frame, struct capture_frame *ret)
{
	bool is_new;
	struct frame_cache_entry *entry = frame_cache_find(
		&capture->frames, &capture->identity.processes, stack->process, frame, &is_new);
	struct frame_name name = { .is_final = true };
	int r = 0;

	if (is_new) {
		name = names_of_frame(&capture->names, &capture->identity, stack->process, frame,
				      stack->record->time);
		entry->number = name.label;
		if (capture->format->add_frame)
			r = capture->format->add_frame(capture, stack, frame, name.name,
						       &entry->value);
	}
	*ret = (struct capture_frame){ entry->number, frame->flags, entry->value };
	if (!name.is_final && capture->has_symbols)
		frame_cache_forget(&capture->frames, entry);
	return r;
}

static int handle_stack(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	const struct wire_stack *record = view;
	struct capture_stack stack = {
		.record = record,
		.process = process_table_find(&capture->identity.processes, record->process),
		.frames = self->stack_frames,
	};
	size_t n = record->frames.n;
	int r = 0;

	pass_time(capture, record->time);
	for (size_t i = frame_cache_match(&capture->frames, &capture->identity.processes,
					  stack.process, &record->frames);
	     i < n && r == 0; i++)
		r = find_frame(capture, &stack, &record->frames.data[n - 1 - i],
			       &self->stack_frames[i]);
	if (r == 0)
		r = count_stack(self, &stack);
	if (r == 0 && capture->format->add_stack)
		r = capture->format->add_stack(capture, &stack);
	stage->samples_out += r == 0;
	return result(stage, capture, r);
}

/* A sample that no unwinder has seen: the kernel's side, and the user's instruction. */
static int handle_sample(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct wire_sample *sample = view;
	struct wire_stack stack = {
		.time = sample->time,
		.process = sample->process,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.weight = sample->weight,
		.end = sample->registers.n ? WIRE_stack_end_NOT_UNWOUND
					   : WIRE_stack_end_NO_USER_REGS,
	};
	size_t n = 0;

	for (; n < sample->kernel.n; n++)
		self->frames[n] = (struct wire_frame){
			.address = sample->kernel.data[n],
			.flags = WIRE_frame_flags_KERNEL | (n ? 0 : WIRE_frame_flags_EXACT),
		};
	if (sample->registers.n == arch_host.n_registers)
		self->frames[n++] = (struct wire_frame){
			.address = sample->registers.data[arch_host.ip_index],
			.flags = WIRE_frame_flags_EXACT,
		};
	stack.frames = (struct wire_frames){ self->frames, n };
	return handle_stack(stage, data, &stack);
}

static int handle_symbol(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	int r = names_add_symbol(&self->capture.names, &self->capture.identity, view);

	if (r == NAMES_REPLACED)
		frame_cache_forget_all(&self->capture.frames);
	return r < 0 ? r : 0;
}

static int handle_inlined(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;

	return names_add_inlined(&self->capture.names, view);
}

static int handle_process(struct stage *stage, void *data, const void *view)
{
	const struct wire_process *record = view;
	struct capture_sink *self = data;

	pass_time(&self->capture, record->time);
	return identity_handle_process(stage, data, view);
}

static int handle_thread(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	int r = names_add_thread(&self->capture.names, view);

	return r < 0 ? r : identity_handle_thread(stage, data, view);
}

static int handle_process_exit(struct stage *stage, void *data, const void *view)
{
	const struct wire_process_exit *record = view;
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	struct process *process = process_table_find(&capture->identity.processes, record->process);
	int r = 0;

	pass_time(capture, record->time);
	if (process && capture->format->exit_process)
		r = capture->format->exit_process(capture, process, record->time);
	identity_handle_process_exit(stage, data, view);
	names_forget_ended(&capture->names, &capture->identity);
	return result(stage, capture, r);
}

static int handle_image_exit(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;

	identity_handle_image_exit(stage, data, view);
	names_forget_ended(&self->capture.names, &self->capture.identity);
	return 0;
}

static int handle_file(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct format *format = self->capture.format;

	return format->add_file
		       ? result(stage, &self->capture, format->add_file(&self->capture, view))
		       : 0;
}

static int handle_message(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct format *format = self->capture.format;

	return format->add_message
		       ? result(stage, &self->capture, format->add_message(&self->capture, view))
		       : 0;
}

static int handle_lost(struct stage *stage, void *data, const void *view)
{
	struct capture_sink *self = data;
	const struct format *format = self->capture.format;

	return format->add_lost
		       ? result(stage, &self->capture, format->add_lost(&self->capture, view))
		       : 0;
}

/* Keeps those that have the most samples. */
static void add_without_debug(struct capture *capture, const struct wire_count *count)
{
	struct counted_image image = {
		.n_samples = count->value,
		.name = names_intern(&capture->names, count->name.data, count->name.size),
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

	if (!strcmp(count->group.data, "dropped"))
		self->capture.n_dropped += count->value;
	if (!strcmp(count->group.data, "no-debug-info"))
		add_without_debug(&self->capture, count);
	return 0;
}

/* What has come so far is in the file after a second at most, whatever happens then. */
static int tick(struct stage *stage, void *data)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	if (now - capture->flushed_time < NANOSECONDS_A_SECOND / 2)
		return 0;
	capture->flushed_time = now;
	return result(stage, capture, output_flush(&capture->output));
}

static uint32_t meaning(uint32_t name, void *arg)
{
	return names_meaning(arg, name);
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;
	int r;

	identity_count_refused(&capture->identity, stage);
	if (capture->names.n_refused)
		*counters_get(&stage->counters, "refused", "names") = capture->names.n_refused;
	if (capture->names.inlined.n_refused)
		*counters_get(&stage->counters, "refused", "inlined-calls") +=
			capture->names.inlined.n_refused;
	pass_time(capture, stage->end_time);
	r = stack_counts_rename(&capture->counts, meaning, &capture->names);
	if (r == 0)
		r = capture->format->end(capture, end);
	if (r == 0)
		r = output_close(&capture->output);
	r = result(stage, capture, r);
	if (!stage->quiet && r == 0)
		summary_print_capture(capture, end);
	return r;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct capture_sink *self = state->input;
	struct capture *capture = &self->capture;

	switch (key) {
	case 'f':
		capture->format = format_find(arg);
		if (!capture->format)
			stage_usage_error(state, "there is no format '%s': syscap or folded", arg);
		return 0;
	case KEY_FORCE:
		self->mode = OUTPUT_REPLACE;
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
					  "'%s' tells no format by its name: use -f, or "
					  ".syscap or .folded",
					  capture->path);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void init(void *data)
{
	struct capture_sink *self = data;

	names_init(&self->capture.names);
}

static void deinit(void *data)
{
	struct capture_sink *self = data;
	struct capture *capture = &self->capture;

	if (capture->format_data && capture->format->free)
		capture->format->free(capture);
	free(capture->format_data);
	output_close(&capture->output);
	stack_counts_deinit(&capture->counts);
	frame_cache_deinit(&capture->frames);
	names_deinit(&capture->names);
	identity_deinit(&capture->identity);
}

static const struct argp_option option_table[] = {
	{ "format", 'f', "FORMAT", 0, "syscap (Sysprof) or folded, whatever the name says", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace OUTPUT if it exists", 0 },
	{ 0 },
};

static const struct stage_handler handlers[] = {
	/* In front of the shared ones of the same records, which they call. */
	{ WIRE_RECORD_process, handle_process },
	{ WIRE_RECORD_process_exit, handle_process_exit },
	{ WIRE_RECORD_thread, handle_thread },
	{ WIRE_RECORD_image_exit, handle_image_exit },
	IDENTITY_HANDLERS,
	{ WIRE_RECORD_sample, handle_sample },
	{ WIRE_RECORD_stack, handle_stack },
	{ WIRE_RECORD_inlined, handle_inlined },
	{ WIRE_RECORD_symbol, handle_symbol },
	{ WIRE_RECORD_file, handle_file },
	{ WIRE_RECORD_message, handle_message },
	{ WIRE_RECORD_lost, handle_lost },
	{ WIRE_RECORD_count, handle_count },
	{ 0 },
};

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
		.tick = tick,
		.finish = finish,
		.deinit = deinit,
	};

	return stage_main(argc, argv, &program);
}
