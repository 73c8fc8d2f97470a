/* SPDX-License-Identifier: GPL-3.0-or-later */
/* frame-dump: prints the records of a stream as text, one per line, or sums them up. */
#include <errno.h>
#include <seccomp.h>
#include <string.h>

#include "common/base/sum.h"
#include "common/stage/sandbox.h"
#include "common/stage/stage.h"
#include "frame-dump/record-text.h"
#include "frame-dump/summary.h"

enum { KEY_HEAP_EVENTS = 0x100 };

struct frame_dump {
	bool summarize;
	bool lists_heap_events;
	struct summary summary;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct frame_dump *self = state->input;

	switch (key) {
	case 'u':
		self->summarize = true;
		return 0;
	case KEY_HEAP_EVENTS:
		self->lists_heap_events = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int start(struct stage *stage, void *data, struct wire_hello *hello)
{
	struct frame_dump *self = data;

	(void)stage;
	if (!self->summarize)
		record_text_print(stdout, wire_type(WIRE_RECORD_hello), hello);
	return 0;
}

static int each(struct stage *stage, void *data, const struct wire_raw *raw, const void *data_view)
{
	struct frame_dump *self = data;
	const union wire_view *view = data_view;
	uint16_t type = raw->header->type;

	stage->samples_out = self->summary.n_samples = stage->samples_in;
	if (!self->summarize && type == WIRE_RECORD_heap_events && self->lists_heap_events)
		record_text_print_heap_events(stdout, &view->heap_events);
	else if (!self->summarize && view)
		record_text_print(stdout, wire_type(type), view);
	else if (!self->summarize)
		record_text_print_unknown(stdout, raw);
	else if (type == WIRE_RECORD_stats)
		summary_add_stats(&self->summary, &view->stats);
	else if (type == WIRE_RECORD_count)
		summary_add_count(&self->summary, &view->count);
	else if (type == WIRE_RECORD_stack)
		summary_add_stack(&self->summary, &view->stack);
	return !ferror(stdout) ? 0 : errno ? -errno : -EIO;
}

static int tick(struct stage *stage, void *data)
{
	(void)stage;
	(void)data;
	return fflush(stdout) ? -errno : 0;
}

static int finish(struct stage *stage, void *data, enum stage_stream_end end)
{
	struct frame_dump *self = data;

	if (self->summarize && !summary_print(stdout, &self->summary, stage->reader.totals)) {
		stage->exit_status = STAGE_EXIT_FAILED;
		if (end == STAGE_STREAM_WHOLE) /* else the error was already reported */
			stage_error(stage, "the stream's sample counts do not add up");
	}
	if (self->summarize && end != STAGE_STREAM_WHOLE)
		printf("the stream is incomplete\n");
	return fflush(stdout) ? -errno : 0;
}

static const struct argp_option option_table[] = {
	{ "summary", 'u', NULL, 0,
	  "Print totals and check that they add up; exit with 1 if not (default: print records)",
	  0 },
	{ "heap-events", KEY_HEAP_EVENTS, NULL, 0,
	  "Print one line per allocation or free (default: one line per heap_events record)", 0 },
	{ 0 },
};

static void describe_sandbox(const void *self, struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(ioctl));
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "frame-dump",
		.summary = "Prints the records of a stream as text, one per line.",
		.role = STAGE_SINK,
		.self_size = sizeof(struct frame_dump),
		.options = option_table,
		.parse_option = parse_option,
		.start = start,
		.describe_sandbox = describe_sandbox,
		.each = each,
		.tick = tick,
		.finish = finish,
	};

	return stage_main(argc, argv, &program);
}
