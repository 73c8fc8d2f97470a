/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe convert: writes a capture in another format, adding names that it lacks. */
#include <string.h>

#include "common/base/cleanup.h"
#include "common/stage/arguments.h"
#include "common/stage/stage.h"
#include "formats/format-list.h"
#include "stackpipe/commands.h"
#include "stackpipe/input.h"

enum {
	KEY_SHOW = 0x100,
	KEY_FORCE,
	KEY_DEBUG_DIR,
	KEY_BASE,
	KEY_VIEW,
	KEY_HEAP,
	KEY_TID,
	KEY_INTERPRETER,
	KEY_RESOURCE,
};

enum { SINK_ARGUMENTS_MAX = 96 };

struct conversion {
	const char *from, *to, *debug_dir;
	const char *sink_arguments[SINK_ARGUMENTS_MAX]; /* passed on to capture-sink */
	size_t n_sink_arguments;
	bool is_shown;
};

/* `value` may be NULL. */
static void pass_on(struct conversion *conversion, const struct argp_state *state,
		    const char *option, const char *value)
{
	if (conversion->n_sink_arguments + 2 > SINK_ARGUMENTS_MAX)
		stage_usage_error(state, "too many options");
	conversion->sink_arguments[conversion->n_sink_arguments++] = option;
	if (value)
		conversion->sink_arguments[conversion->n_sink_arguments++] = value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct conversion *conversion = state->input;

	switch (key) {
	case 'q':
		pass_on(conversion, state, "-q", NULL);
		return 0;
	case KEY_SHOW:
		conversion->is_shown = true;
		return 0;
	case 'f':
		pass_on(conversion, state, "-f", arg);
		return 0;
	case KEY_FORCE:
		pass_on(conversion, state, "--force", NULL);
		return 0;
	case KEY_DEBUG_DIR:
		conversion->debug_dir = arg;
		return 0;
	case KEY_BASE:
		pass_on(conversion, state, "--base", arg);
		return 0;
	case KEY_VIEW:
		pass_on(conversion, state, "--view", arg);
		return 0;
	case KEY_HEAP:
		pass_on(conversion, state, "--heap", arg);
		return 0;
	case KEY_INTERPRETER:
		pass_on(conversion, state, "--interpreter", arg);
		return 0;
	case KEY_RESOURCE:
		pass_on(conversion, state, "--resource", arg);
		return 0;
	case KEY_TID:
		pass_on(conversion, state, "--tid", NULL);
		return 0;
	case ARGP_KEY_ARG:
		if (!conversion->from)
			conversion->from = arg;
		else if (!conversion->to)
			conversion->to = arg;
		else
			stage_usage_error(
				state,
				"unexpected argument '%s': give only a capture and the file to write",
				arg);
		return 0;
	case ARGP_KEY_END:
		if (!conversion->to)
			stage_usage_error(state,
					  "missing argument: give a capture and the file to write");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "format", 'f', "FORMAT", 0,
	  "Output format: " FORMATS_TEXT " (default: from the file name extension of TO)", 0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace TO if it exists", 0 },
	{ "base", KEY_BASE, "PAGE", 0,
	  "Compare TO, a page (.html), with PAGE, a page written earlier", 0 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0, "Also look for separate debug files in DIR", 0 },
	{ "heap", KEY_HEAP, "AMOUNT", 0,
	  "Amount of a heap that formats with one amount per stack hold: peak (default), leaks, allocated, "
	  "temporary or foreign, in bytes, or AMOUNT:blocks",
	  0 },
	{ "interpreter", KEY_INTERPRETER, "WORD", 0,
	  "Whether to hide or show an interpreter's own functions that run a script's (default: hide in "
	  ".html, show in others)",
	  0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ "show-pipeline", KEY_SHOW, NULL, 0, "Print the equivalent shell pipeline and exit", 0 },
	{ "resource", KEY_RESOURCE, "KEY=VALUE", 0,
	  "Add an attribute to the resources of .otlp: service.name, service.namespace, host.id, …",
	  0 },
	{ "tid", KEY_TID, NULL, 0,
	  "List each thread separately in .folded and .otlp, with PID and TID", 0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "Amount of several events that formats with one amount per stack hold: samples (default), an event "
	  "name, or, of waits, on-cpu, off-cpu, wakeups or wall-clock (then the default), in microseconds",
	  0 },
	{ 0 },
};

static int add_sink(struct pipeline *pipeline, const struct conversion *conversion)
{
	int r = pipeline_add(pipeline, "capture-sink");

	for (size_t i = 0; i < conversion->n_sink_arguments && r == 0; i++)
		r = pipeline_add_argument(pipeline, conversion->sink_arguments[i]);
	return r < 0 ? r : pipeline_add_file(pipeline, conversion->to);
}

/* perf.data files already pass through the symbolizer; a recorded stream has no stage yet. */
static bool has_names(const struct pipeline *pipeline)
{
	return pipeline->n && !strcmp(pipeline->stages[pipeline->n - 1].arguments[0], "symbolizer");
}

/* The symbolizer keeps existing names. */
static int add_stages(struct pipeline *pipeline, const struct conversion *conversion)
{
	int r = input_add_stages(pipeline, conversion->from, "convert");

	if (r == 0 && !has_names(pipeline)) {
		r = pipeline_add(pipeline, "symbolizer");
		if (r == 0)
			r = pipeline_add_argument(pipeline, "-q");
	}
	if (r == 0 && conversion->debug_dir)
		r = pipeline_add_argument(pipeline, "--debug-dir");
	if (r == 0 && conversion->debug_dir)
		r = pipeline_add_argument(pipeline, conversion->debug_dir);
	return r < 0 ? r : add_sink(pipeline, conversion);
}

int command_convert(int argc, char **argv)
{
	static const struct argp argp = {
		options, parse_option, "FROM TO",
		"Convert a capture, folded stacks or perf.data to another format."
	};
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { .front = "stackpipe convert" };
	struct conversion conversion = { 0 };
	int status;

	arguments_parse(&argp, "stackpipe convert", argc, argv, 0, &conversion);
	if (add_stages(&pipeline, &conversion) < 0)
		return STAGE_EXIT_FAILED;
	if (conversion.is_shown) {
		pipeline_print(&pipeline, stdout);
		return STAGE_EXIT_OK;
	}
	status = pipeline_start(&pipeline, NULL);
	return status ? status : pipeline_wait(&pipeline);
}
