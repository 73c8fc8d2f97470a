/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe record: perf-source | live-unwinder | symbolizer | capture-sink, and their options. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/stage/arguments.h"
#include "common/stage/stage.h"
#include "formats/format-list.h"
#include "stackpipe/commands.h"
#include "stackpipe/pipeline.h"

/* An existing one is renamed to *.old, as perf does with perf.data. */
#define DEFAULT_OUTPUT "stackpipe.syscap"

enum {
	KEY_SHOW = 0x100,
	KEY_FORCE,
	KEY_DEBUG_DIR,
	KEY_DEBUGINFOD,
	KEY_NO_INLINES,
	KEY_ENGINE,
	KEY_UNWIND_RULES,
	KEY_SANDBOX,
	KEY_OFF_CPU,
	KEY_COUNTERS,
	KEY_MARKS,
	KEY_FILTER,
	KEY_STACK_LIMIT,
	KEY_UNWIND,
	KEY_NO_CONTEXTS,
	KEY_INTERPRETERS,
	KEY_NO_INTERPRETERS,
	KEY_SCHEDULER,
	KEY_VIEW,
	KEY_INTERPRETER,
};

enum { SOURCE, UNWINDER, SYMBOLIZER, SINK, N_STAGES };

enum { OPTION_SIZE = 64 };
enum optional_option { OPTION_OFF_CPU, OPTION_COUNTERS, N_OPTIONAL_OPTIONS };

struct recording_plan {
	struct pipeline pipeline;
	const char *output;
	bool has_target, has_duration, is_endless, is_forced, is_shown, is_quiet;
	char optional[N_OPTIONAL_OPTIONS][OPTION_SIZE]; /* borrowed by the pipeline */
};

/* The stage that takes an option, and the option's name there. */
static const struct {
	int key, stage;
	const char *name;
} passed_on[] = {
	{ 'p', SOURCE, "-p" },
	{ 'F', SOURCE, "-F" },
	{ 'c', SOURCE, "-c" },
	{ 's', SOURCE, "-s" },
	{ 'e', SOURCE, "-e" },
	{ KEY_FILTER, SOURCE, "--filter" },
	{ KEY_STACK_LIMIT, SOURCE, "--stack-limit" },
	{ KEY_UNWIND, SOURCE, "--unwind" },
	{ 'd', SOURCE, "-d" },
	{ 'm', SOURCE, "-m" },
	{ 'f', SINK, "-f" },
	{ KEY_VIEW, SINK, "--view" },
	{ KEY_INTERPRETER, SINK, "--interpreter" },
	{ KEY_MARKS, SOURCE, "--marks" },
	{ KEY_ENGINE, UNWINDER, "--engine" },
	{ KEY_UNWIND_RULES, UNWINDER, "--unwind-rules" },
	{ KEY_DEBUG_DIR, SYMBOLIZER, "--debug-dir" },
	{ KEY_DEBUGINFOD, SYMBOLIZER, "--debuginfod" },
};

static void add(struct recording_plan *recording, int stage, const char *argument)
{
	if (pipeline_add_argument_to(&recording->pipeline, stage, argument) < 0)
		abort(); /* tiny allocation, before anything has started */
}

static int pass_on(struct recording_plan *recording, int key, const char *arg)
{
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++) {
		if (passed_on[i].key != key)
			continue;
		add(recording, passed_on[i].stage, passed_on[i].name);
		add(recording, passed_on[i].stage, arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* For all stages that parse untrusted input: all but the source. */
static void pass_on_sandbox(struct recording_plan *recording, const char *mode)
{
	for (int i = UNWINDER; i < N_STAGES; i++) {
		add(recording, i, "--sandbox");
		add(recording, i, mode);
	}
}

/* An optional value is joined to the option by '='. The last option of a kind wins. */
static void add_optional(struct recording_plan *recording, enum optional_option which,
			 const char *name, const char *value)
{
	char *option = recording->optional[which];

	snprintf(option, OPTION_SIZE, value ? "%s=%s" : "%s", name, value);
	add(recording, SOURCE, option);
}

static void take_command(struct recording_plan *recording, const struct argp_state *state)
{
	add(recording, SOURCE, "--");
	for (int i = state->next - 1; i < state->argc; i++)
		add(recording, SOURCE, state->argv[i]);
	recording->has_target = true;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct recording_plan *recording = state->input;

	switch (key) {
	case 'o':
		recording->output = arg;
		return 0;
	case 'q':
		recording->is_quiet = true;
		for (int i = 0; i < N_STAGES; i++)
			add(recording, i, "-q");
		return 0;
	case 'a':
		recording->has_target = true;
		add(recording, SOURCE, "-a");
		return 0;
	case KEY_SHOW:
		recording->is_shown = true;
		return 0;
	case KEY_FORCE:
		recording->is_forced = true;
		return 0;
	case KEY_OFF_CPU:
		add_optional(recording, OPTION_OFF_CPU, "--off-cpu", arg);
		return 0;
	case KEY_COUNTERS:
		add_optional(recording, OPTION_COUNTERS, "--counters", arg);
		return 0;
	case KEY_SCHEDULER:
		add(recording, SOURCE, "--scheduler");
		return 0;
	case KEY_NO_CONTEXTS:
		add(recording, SOURCE, "--no-contexts");
		return 0;
	case KEY_INTERPRETERS:
		add(recording, SOURCE, "--interpreters");
		return 0;
	case KEY_NO_INTERPRETERS:
		add(recording, SOURCE, "--no-interpreters");
		return 0;
	case KEY_ENGINE:
		if (!strcmp(arg, "dwfl")) /* elfutils needs the whole stack */
			add(recording, SOURCE, "--unwind=copy");
		return pass_on(recording, key, arg);
	case KEY_SANDBOX:
		stage_sandbox_mode(arg, state); /* checked here: one error, not one per stage */
		pass_on_sandbox(recording, arg);
		return 0;
	case KEY_NO_INLINES:
		add(recording, SYMBOLIZER, "--no-inlines");
		return 0;
	case ARGP_KEY_ARG:
		take_command(recording, state);
		state->next = state->argc; /* the rest are the command's own arguments */
		return 0;
	case ARGP_KEY_END:
		if (!recording->has_target && !strcmp(state->argv[state->argc - 1], "--"))
			stage_usage_error(state, "no command after '--'");
		recording->is_endless = !recording->has_target && !recording->has_duration;
		if (!recording->has_target)
			add(recording, SOURCE, "-a");
		return 0;
	default:
		recording->has_target |= key == 'p';
		recording->has_duration |= key == 'd';
		return pass_on(recording, key, arg);
	}
}

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Output file; its extension selects the format: " FORMATS_ENDINGS
	  " (default " DEFAULT_OUTPUT ")",
	  0 },
	{ "format", 'f', "FORMAT", 0, "Output format (default: from the extension of FILE)", 0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "Amount shown in the summary and .folded: samples (default), an event name, or, if waits are "
	  "recorded, on-cpu, off-cpu, wakeups or wall-clock (then the default)",
	  0 },
	{ "interpreter", KEY_INTERPRETER, "WORD", 0,
	  "Whether to hide or show an interpreter's own functions that run a script's (default: hide in "
	  ".html, show in others)",
	  0 },
	{ "force", KEY_FORCE, NULL, 0, "Replace FILE if it exists", 0 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 0 },
	{ "show-pipeline", KEY_SHOW, NULL, 0, "Print the equivalent shell pipeline and exit", 0 },
	{ NULL, 0, NULL, 0, "What to record:", 1 },
	{ "all", 'a', NULL, 0,
	  "Record all processes (default if neither a command nor -p is given)", 1 },
	{ "pid", 'p', "PID[,PID]", 0, "Record these processes and their future children", 1 },
	{ "freq", 'F', "HZ", 0, "Sampling frequency per CPU (default 999, at most 20000)", 1 },
	{ "frequency", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 1 },
	{ "count", 'c', "N", 0,
	  "Sample each Nth occurrence of an event instead of at a rate (of tracepoints and uprobes, default 1)",
	  1 },
	{ "stack-size", 's', "BYTES", 0,
	  "Maximum stack bytes copied per sample (default 65528, or 32768 if ring buffers are small)",
	  1 },
	{ "stack-limit", KEY_STACK_LIMIT, "BYTES", 0,
	  "Read deeper stacks up to BYTES (default 8M, or with -s no more than that; 0: never)",
	  1 },
	{ "unwind", KEY_UNWIND, "WHERE", 0,
	  "Where stacks are walked: kernel, copy or auto (in the kernel where it can; default)",
	  1 },
	{ "no-contexts", KEY_NO_CONTEXTS, NULL, 0,
	  "Do not record the trace contexts that programs publish", 1 },
	{ "no-interpreters", KEY_NO_INTERPRETERS, NULL, 0,
	  "Do not record the functions of programs in Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java and .NET",
	  1 },
	{ "interpreters", KEY_INTERPRETERS, NULL, 0,
	  "Fail if the functions of programs in Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java and .NET cannot be "
	  "recorded",
	  1 },
	{ "event", 'e', "EVENT[,EVENT]", 0,
	  "Events to sample: cycles, cpu-clock, …, a tracepoint GROUP:NAME or a function uprobe:FILE:SYMBOL "
	  "(default cycles, or cpu-clock if the machine has no cycle counter)",
	  1 },
	{ "filter", KEY_FILTER, "FILTER", 0,
	  "Keep only matching samples of the preceding events: uid==1000, comm==cc1||comm==ld", 1 },
	{ "duration", 'd', "SECONDS", 0, "Stop after this many seconds (default: no limit)", 1 },
	{ "off-cpu", KEY_OFF_CPU, "US", OPTION_ARG_OPTIONAL,
	  "Also record waits of at least US microseconds, with their stacks (default 100)", 1 },
	{ "counters", KEY_COUNTERS, "MS", OPTION_ARG_OPTIONAL,
	  "Also record counters of the whole machine every MS milliseconds (default 500)", 1 },
	{ "scheduler", KEY_SCHEDULER, NULL, 0,
	  "Also record, as marks, when and on which CPU each thread ran, and how long processes lived",
	  1 },
	{ "marks", KEY_MARKS, "PATH", 0,
	  "Create a socket at PATH that receives marks from programs and scripts", 1 },
	{ "ring-size", 'm', "BYTES", 0,
	  "Ring buffer size per CPU, with an optional suffix K or M (default: one second of samples, 4 to 32 "
	  "MiB)",
	  1 },
	{ "buffer-size", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 1 },
	{ NULL, 0, NULL, 0, "How to process the samples:", 2 },
	{ "engine", KEY_ENGINE, "ENGINE", 0,
	  "Unwinder: auto (tables, with elfutils as a fallback; default), table (tables only) or dwfl "
	  "(elfutils only)",
	  2 },
	{ "unwind-rules", KEY_UNWIND_RULES, "FILE", 0,
	  "Read rules for code without unwind information from FILE; see stackpipe-unwind-rules(5)",
	  2 },
	{ "intervals", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 2 },
	{ "debug-dir", KEY_DEBUG_DIR, "DIR", 0, "Also look for separate debug files in DIR", 2 },
	{ "debuginfod", KEY_DEBUGINFOD, "MODE", 0,
	  "Debug files from debuginfod: off, cache (only those already downloaded; default) or on (download "
	  "them)",
	  2 },
	{ "no-inlines", KEY_NO_INLINES, NULL, 0,
	  "Show function names only, without inlined calls and source lines", 2 },
	{ "sandbox", KEY_SANDBOX, "MODE", 0,
	  "Sandbox of all stages except the source: auto (as far as the kernel supports it; default), "
	  "required (fail if incomplete) or off",
	  2 },
	{ 0 },
};

static int run(struct recording_plan *recording)
{
	struct pipeline *pipeline = &recording->pipeline;
	int status;

	pipeline_stop_by_signal(pipeline);
	status = pipeline_start(pipeline, NULL);
	if (status == STAGE_EXIT_OK && recording->is_endless && !recording->is_quiet)
		fputs("stackpipe record: recording all processes; press Ctrl-C to stop\n", stderr);
	return status ? status : pipeline_wait(pipeline);
}

int command_record(int argc, char **argv)
{
	static const char *const names[] = { "perf-source", "live-unwinder", "symbolizer",
					     "capture-sink" };
	static const struct argp argp = { options, parse_option, "[-- COMMAND [ARG...]]",
					  "Record a command, processes, or the whole machine." };
	struct recording_plan recording = { .pipeline.front = "stackpipe record",
					    .output = DEFAULT_OUTPUT };
	int status = STAGE_EXIT_OK;

	for (int i = 0; i < N_STAGES; i++)
		if (pipeline_add(&recording.pipeline, names[i]) < 0)
			return STAGE_EXIT_FAILED;
	arguments_parse(&argp, "stackpipe record", argc, argv, ARGP_IN_ORDER, &recording);
	if (recording.is_forced)
		add(&recording, SINK, "--force");
	else if (!strcmp(recording.output, DEFAULT_OUTPUT))
		add(&recording, SINK, "--keep-old");
	if (pipeline_add_file(&recording.pipeline, recording.output) < 0)
		abort();
	if (strcmp(recording.output, "-"))
		recording.pipeline.command_output_fd = STDOUT_FILENO;
	if (recording.is_shown)
		pipeline_print(&recording.pipeline, stdout);
	else
		status = run(&recording);
	pipeline_deinit(&recording.pipeline);
	return status;
}
