/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe convert: a capture in another format, with names that it may have been written without.
 */
#include <argp.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/stage.h"
#include "stackpipe/commands.h"
#include "stackpipe/input.h"

enum { KEY_SHOW = 0x100, KEY_FORCE, KEY_DEBUG_DIR, KEY_BASE };

struct conversion {
	const char *from, *to, *debug_dir, *base;
	bool is_forced, is_shown, is_quiet;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct conversion *conversion = state->input;

	switch (key) {
	case 'q':
		conversion->is_quiet = true;
		return 0;
	case KEY_SHOW:
		conversion->is_shown = true;
		return 0;
	case KEY_FORCE:
		conversion->is_forced = true;
		return 0;
	case KEY_DEBUG_DIR:
		conversion->debug_dir = arg;
		return 0;
	case KEY_BASE:
		conversion->base = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (!conversion->from)
			conversion->from = arg;
		else if (!conversion->to)
			conversion->to = arg;
		else
			stage_usage_error(state, "two files, not '%s' too", arg);
		return 0;
	case ARGP_KEY_END:
		if (!conversion->to)
			stage_usage_error(state, "name a capture, and the file to write");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "force", KEY_FORCE, NULL, 0, "Replace TO if it exists", 0 },
	{ "base", KEY_BASE, "PAGE", 0, "Of .html: compare with this page of stackpipe", 0 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0, "Look for debug files in DIR too", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ "show-pipeline", KEY_SHOW, NULL, 0, "Print the shell's pipeline that does the same", 0 },
	{ 0 },
};

static int add_sink(struct pipeline *pipeline, const struct conversion *conversion)
{
	int r = pipeline_add(pipeline, "capture-sink");

	if (r == 0 && conversion->is_quiet)
		r = pipeline_add_argument(pipeline, "-q");
	if (r == 0 && conversion->is_forced)
		r = pipeline_add_argument(pipeline, "--force");
	if (r == 0 && conversion->base)
		r = pipeline_add_argument(pipeline, "--base");
	if (r == 0 && conversion->base)
		r = pipeline_add_argument(pipeline, conversion->base);
	return r < 0 ? r : pipeline_add_argument(pipeline, conversion->to);
}

/* perf's files have been through the symbolizer already; what has a name keeps it. */
static int add_stages(struct pipeline *pipeline, const struct conversion *conversion)
{
	const char *last;
	int r = input_add_stages(pipeline, conversion->from, "convert");

	if (r < 0)
		return r;
	last = pipeline->stages[pipeline->n - 1].arguments[0];
	if (strcmp(last, "symbolizer"))
		r = pipeline_add(pipeline, "symbolizer");
	if (r == 0 && strcmp(last, "symbolizer"))
		r = pipeline_add_argument(pipeline, "-q");
	if (r == 0 && conversion->debug_dir)
		r = pipeline_add_argument(pipeline, "--debug-dir");
	if (r == 0 && conversion->debug_dir)
		r = pipeline_add_argument(pipeline, conversion->debug_dir);
	return r < 0 ? r : add_sink(pipeline, conversion);
}

int command_convert(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "FROM TO",
					  "Writes a capture, folded stacks or perf.data in another "
					  "format." };
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { 0 };
	struct conversion conversion = { 0 };

	argp_err_exit_status = STAGE_EXIT_USAGE;
	argv[0] = "stackpipe convert";
	argp_parse(&argp, argc, argv, 0, NULL, &conversion);
	if (add_stages(&pipeline, &conversion) < 0)
		return STAGE_EXIT_FAILED;
	if (conversion.is_shown) {
		pipeline_print(&pipeline, stdout);
		return STAGE_EXIT_OK;
	}
	if (pipeline_start(&pipeline, NULL) < 0)
		return STAGE_EXIT_FAILED;
	return pipeline_wait(&pipeline);
}
