/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of every stage, before its own. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/stage/arguments.h"
#include "common/stage/stage-internal.h"

enum { KEY_STATS = 0x10000, KEY_SANDBOX }; /* beyond any key of a stage */

struct options {
	struct stage *stage;
	void *self;
	FILE *nowhere;
};

void stage_usage_error(const struct argp_state *state, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", state->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs(" (see --help)\n", stderr);
	exit(STAGE_EXIT_USAGE);
}

enum stage_sandbox_mode stage_sandbox_mode(const char *name, const struct argp_state *state)
{
	static const char *const names[] = {
		[STAGE_SANDBOX_AUTO] = "auto",
		[STAGE_SANDBOX_REQUIRED] = "required",
		[STAGE_SANDBOX_OFF] = "off",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return i;
	stage_usage_error(state, "--sandbox takes auto, required or off, not '%s'", name);
}

static error_t parse_sandbox(int key, char *arg, struct argp_state *state)
{
	struct stage *stage = state->input;

	if (key != KEY_SANDBOX)
		return ARGP_ERR_UNKNOWN;
	stage->sandbox_mode = stage_sandbox_mode(arg, state);
	return 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = options->self;
		state->child_inputs[1] = options->stage;
		/* getopt has printed one line already; argp would print a second one. */
		state->err_stream = options->nowhere;
		return 0;
	case 'q':
		options->stage->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (options->stage->program->arguments)
			return ARGP_ERR_UNKNOWN;
		stage_usage_error(state, "unexpected argument '%s'", arg);
	case KEY_STATS:
		options->stage->stats_path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print_version(FILE *out, struct argp_state *state)
{
	fprintf(out, "%s (stackpipe) %s\n", state->name, STACKPIPE_VERSION);
}

static const struct argp_option common_options[] = {
	{ "quiet", 'q', NULL, 0, "Print errors only", -1 },
	{ "stats", KEY_STATS, "FILE", 0,
	  "Write statistics as JSON to FILE at the end (default: none)", -1 },
	{ 0 },
};

static const struct argp_option sandbox_options[] = {
	{ "sandbox", KEY_SANDBOX, "MODE", 0,
	  "Sandbox: auto (what this machine supports; default), required (complete, else fail) or "
	  "off",
	  -1 },
	{ 0 },
};

void stage_parse_options(struct stage *stage, void *self, int argc, char **argv)
{
	const struct stage_program *program = stage->program;
	struct argp own = {
		.options = program->options,
		.parser = program->parse_option,
	};
	struct argp sandbox = { .options = sandbox_options, .parser = parse_sandbox };
	struct argp_child children[] = {
		{ &own, 0, NULL, 0 },
		{ program->describe_sandbox ? &sandbox : NULL, 0, NULL, 0 },
		{ 0 },
	};
	struct argp argp = {
		.options = common_options,
		.parser = parse_option,
		.args_doc = program->arguments,
		.doc = program->summary,
		.children = children,
	};
	struct options options = { stage, self, fopen("/dev/null", "we") };

	argp_program_version_hook = print_version;
	/* In order: what follows a command belongs to the command. */
	arguments_parse(&argp, stage->front ? stage->front : program->name, argc, argv,
			ARGP_IN_ORDER, &options);
	if (options.nowhere)
		fclose(options.nowhere);
}
