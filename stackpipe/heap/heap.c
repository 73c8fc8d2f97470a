/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stackpipe heap: records a command behind `--` by preload-source | live-unwinder | symbolizer; the
 * file's name decides whether the stream is kept as it is or goes to capture-sink. With a file,
 * reports what became of the memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/text.h"
#include "common/stage/arguments.h"
#include "common/stage/new-file.h"
#include "common/wire/wire.h"
#include "stackpipe/commands.h"
#include "stackpipe/heap/heap-report.h"
#include "stackpipe/input.h"
#include "stackpipe/pipeline.h"
#include "stackpipe/regex-option.h"

#define RECORDING_ENDING ".heap"
#define DEFAULT_FILE "stackpipe" RECORDING_ENDING

enum {
	KEY_FOLLOW = 0x100,
	KEY_WHEN_FULL,
	KEY_MAX_FRAMES,
	KEY_FORCE,
	KEY_SHOW,
	KEY_PEAK,
	KEY_LEAKS,
	KEY_ALLOCATED,
	KEY_TEMPORARY,
	KEY_FOREIGN,
	KEY_BLOCKS,
	KEY_CALLERS,
	KEY_CALLEES,
	KEY_JSON,
	KEY_LINES,
	KEY_MIN,
	KEY_BETWEEN,
	KEY_MMAP,
	KEY_ONLY,
	KEY_AGAINST,
	KEY_SANDBOX,
};

enum { SOURCE, UNWINDER, SYMBOLIZER, SINK, N_STAGES };
enum { ROWS_DEFAULT = 25 };

static struct heap_report report = {
	.options = { .n_rows = ROWS_DEFAULT, .min_percent = 1, .view = { VIEW_WEIGHTS, 0 } },
	.points = { -1, -1 },
};
static struct pipeline recording = { .front = "stackpipe heap" }, reading;
static struct new_file stream; /* used if the stream itself is the output file */
static const char *output = DEFAULT_FILE, *format, *input, *base, *sandbox;
static bool has_command, is_forced, is_quiet, is_shown;

static void add(int stage, const char *argument)
{
	if (pipeline_add_argument_to(&recording, stage, argument) < 0)
		abort(); /* tiny allocation, before anything has started */
}

static int pass_on(int stage, const char *option, const char *argument)
{
	add(stage, option);
	add(stage, argument);
	return 0;
}

static int take_command(struct argp_state *state)
{
	add(SOURCE, "--");
	for (int i = state->next - 1; i < state->argc; i++)
		add(SOURCE, state->argv[i]);
	state->next = state->argc; /* the rest are the command's own arguments */
	has_command = true;
	return 0;
}

static int take_argument(char *arg, struct argp_state *state)
{
	bool is_behind = state->next >= 2 && !strcmp(state->argv[state->next - 2], "--");

	if (is_behind)
		return take_command(state);
	if (input)
		stage_usage_error(state,
				  "unexpected argument '%s': give one file, or a command after --",
				  arg);
	input = arg;
	return 0;
}

static int set_kind(enum report_kind kind, const char *text, const struct argp_state *state)
{
	report.options.kind = kind;
	report.options.subject = text ? regex_option_compile(text, state) : NULL;
	return 0;
}

static int parse_points(const char *text, const struct argp_state *state)
{
	char *end;

	report.points[0] = strtod(text, &end);
	if (*end == ':')
		report.points[1] = end[1] ? strtod(end + 1, &end) : (end++, INFINITY);
	if (*end || !(report.points[0] >= 0) || !(report.points[1] > report.points[0]))
		stage_usage_error(state, "--between takes FROM:TO in seconds, not '%s'", text);
	return 0;
}

static uint64_t parse_rows(const char *text, const struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *text == '-' || *end)
		stage_usage_error(state, "-n takes a number, not '%s'", text);
	return n;
}

static int parse_recording_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'o':
		output = arg;
		return 0;
	case 'q':
		is_quiet = true;
		for (int i = 0; i < SINK; i++)
			add(i, "-q");
		return 0;
	case 'f':
		format = arg;
		return 0;
	case KEY_FORCE:
		is_forced = true;
		return 0;
	case 'S':
		return pass_on(SOURCE, "-S", arg);
	case KEY_FOLLOW:
		add(SOURCE, "--follow");
		return 0;
	case KEY_WHEN_FULL:
		return pass_on(SOURCE, "--when-full", arg);
	case KEY_MAX_FRAMES:
		return pass_on(SOURCE, "--max-frames", arg);
	case KEY_MMAP:
		add(SOURCE, "--mmap");
		return 0;
	case KEY_SANDBOX:
		stage_sandbox_mode(arg, state); /* checked here: one error, not one per stage */
		sandbox = arg;			/* for the sink, which is added later */
		for (int i = 0; i < SINK; i++)
			pass_on(i, "--sandbox", arg);
		return 0;
	case KEY_SHOW:
		is_shown = true;
		return 0;
	case ARGP_KEY_ARG:
		return take_argument(arg, state);
	case ARGP_KEY_END:
		if (base && (report.points[0] >= 0 || report.scope != HEAP_ALL ||
			     report.options.kind != REPORT_FUNCTIONS))
			stage_usage_error(
				state,
				"--against excludes --between, --only, --tree, --callers and --callees");
		if (has_command && input)
			stage_usage_error(state,
					  "give a file to read or a command to run, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	char *end;

	switch (key) {
	case KEY_PEAK:
	case KEY_LEAKS:
	case KEY_ALLOCATED:
	case KEY_TEMPORARY:
	case KEY_FOREIGN:
		report.metric = HEAP_AT_PEAK + (key - KEY_PEAK);
		return 0;
	case KEY_BLOCKS:
		report.unit = HEAP_BLOCKS;
		return 0;
	case 't':
		return set_kind(REPORT_TREE, NULL, state);
	case KEY_CALLERS:
		return set_kind(REPORT_CALLERS, arg, state);
	case KEY_CALLEES:
		return set_kind(REPORT_CALLEES, arg, state);
	case KEY_LINES:
		report.options.detail = TREE_OF_LINES;
		return 0;
	case KEY_JSON:
		report.options.is_json = true;
		return 0;
	case 'n':
		report.options.n_rows = parse_rows(arg, state);
		return 0;
	case KEY_MIN:
		report.options.min_percent = strtod(arg, &end);
		if (end == arg || *end || !(report.options.min_percent >= 0))
			stage_usage_error(state, "--min takes a percentage, not '%s'", arg);
		return 0;
	case KEY_ONLY:
		if (strcmp(arg, "heap") && strcmp(arg, "mmap"))
			stage_usage_error(state, "--only takes heap or mmap, not '%s'", arg);
		report.scope = *arg == 'h' ? HEAP_BLOCKS_ONLY : HEAP_MAPPINGS_ONLY;
		return 0;
	case KEY_AGAINST:
		base = arg;
		return 0;
	case KEY_BETWEEN:
		return parse_points(arg, state);
	default:
		return parse_recording_option(key, arg, state);
	}
}

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Recording a command:", 1 },
	{ "output", 'o', "FILE", 0,
	  "Output file: the whole recording, for reports, if its extension is " RECORDING_ENDING
	  ", else a format of capture-sink(1) (default " DEFAULT_FILE ")",
	  1 },
	{ "format", 'f', "FORMAT", 0,
	  "Output format of capture-sink(1) (default: from the extension of FILE)", 1 },
	{ "force", KEY_FORCE, NULL, 0, "Replace FILE if it exists", 1 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 1 },
	{ "sample", 'S', "BYTES", 0,
	  "Record one sample per BYTES allocated, with an optional suffix K or M (default 0, every "
	  "allocation)",
	  1 },
	{ "follow", KEY_FOLLOW, NULL, 0, "Also record child processes", 1 },
	{ "when-full", KEY_WHEN_FULL, "POLICY", 0,
	  "What to do if the program outruns the recorder: block[:MS] (wait for at most MS milliseconds at a "
	  "time; default block:1000), drop or adapt; see preload-source(1)",
	  1 },
	{ "mmap", KEY_MMAP, NULL, 0, "Also record memory that the program maps with mmap(2)", 1 },
	{ "max-frames", KEY_MAX_FRAMES, "N", 0, "Maximum frames per stack (default 64)", 1 },
	{ "sandbox", KEY_SANDBOX, "MODE", 0,
	  "Sandbox of the stages that record: auto (as far as the kernel supports it; default), required "
	  "(fail if incomplete) or off",
	  1 },
	{ "show-pipeline", KEY_SHOW, NULL, 0, "Print the equivalent shell pipeline and exit", 1 },
	{ NULL, 0, NULL, 0, "Reporting a recording, what to count:", 2 },
	{ "peak", KEY_PEAK, NULL, 0, "Count the memory that was alive at the peak (default)", 2 },
	{ "leaks", KEY_LEAKS, NULL, 0, "Count memory that was never freed", 2 },
	{ "allocated", KEY_ALLOCATED, NULL, 0, "Count all memory that was allocated", 2 },
	{ "temporary", KEY_TEMPORARY, NULL, 0,
	  "Count memory freed before the next allocation of its thread", 2 },
	{ "foreign", KEY_FOREIGN, NULL, 0, "Count memory freed by another thread", 2 },
	{ "between", KEY_BETWEEN, "FROM:TO", 0,
	  "Show what changed between two times, in seconds since the recording began", 2 },
	{ "against", KEY_AGAINST, "BEFORE", 0, "Show what changed since another recording", 2 },
	{ "only", KEY_ONLY, "heap|mmap", 0,
	  "Count only malloc(3) blocks (heap) or only mmap(2) mappings (mmap)", 2 },
	{ "blocks", KEY_BLOCKS, NULL, 0, "Count blocks instead of bytes", 2 },
	{ NULL, 0, NULL, 0, "Reporting a recording, how to show it:", 3 },
	{ "tree", 't', NULL, 0, "Show the call tree instead of a list of functions", 3 },
	{ "callers", KEY_CALLERS, "REGEX", 0, "Show the callers of functions whose names match",
	  3 },
	{ "callees", KEY_CALLEES, "REGEX", 0, "Show the callees of functions whose names match",
	  3 },
	{ "rows", 'n', "N", 0, "Rows to show of each list (default 25, 0 for all)", 3 },
	{ "min", KEY_MIN, "PERCENT", 0, "Hide branches of a tree below this percentage (default 1)",
	  3 },
	{ "lines", KEY_LINES, NULL, 0, "Show each source line of a function separately", 3 },
	{ "json", KEY_JSON, NULL, 0, "Print JSON", 3 },
	{ 0 },
};

static int fail_to_create(int error)
{
	if (error == -EEXIST)
		fprintf(stderr,
			"stackpipe heap: error: '%s' exists: choose another name or use --force\n",
			output);
	else
		fprintf(stderr, "stackpipe heap: error: could not create '%s': %s\n", output,
			strerror(-error));
	return error;
}

/* A file of the default name is renamed to *.old, as perf does; a chosen name is not replaced. */
static enum output_file_mode mode(void)
{
	if (is_forced)
		return OUTPUT_FILE_REPLACE;
	return strcmp(output, DEFAULT_FILE) ? OUTPUT_FILE_NEW : OUTPUT_FILE_KEEP_OLD;
}

/* Makes the output file our standard output, for the stream. 0 or -errno. */
static int open_output(void)
{
	int r = new_file_open(&stream, output, mode(), "stackpipe heap");

	if (r < 0)
		return fail_to_create(r);
	return dup2(stream.fd, STDOUT_FILENO) < 0 ? fail_to_create(-errno) : 0;
}

/* Whether capture-sink writes the file; it refuses a name that it cannot map to a format. */
static bool is_for_sink(void)
{
	return format || !text_has_ending(output, RECORDING_ENDING);
}

/* Whether all stages behind the source succeeded; the source's status is that of the program. */
static bool is_whole(void)
{
	for (size_t i = SOURCE + 1; i < recording.n; i++)
		if (recording.stages[i].status)
			return false;
	return true;
}

/* Whether a written stream has a heap_events record. */
static bool holds_events(int fd)
{
	struct wire_header header;
	_cleanup_fd_ int again = -1;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	for (off_t at = 0; pread(again, &header, sizeof(header), at) == sizeof(header) &&
			   header.size >= sizeof(header);
	     at += header.size)
		if (header.type == WIRE_RECORD_heap_events)
			return true;
	return false;
}

/* Names the file if the recording is whole; otherwise a stage has already reported why not. */
static int finish_recording(int status)
{
	int r;

	if (is_for_sink())
		return status;
	signal(SIGPIPE, SIG_IGN); /* the process that keeps the name may have been killed */
	if (holds_events(stream.fd))
		new_file_note_content(&stream);
	r = is_whole() ? new_file_finish(&stream) : 0;
	if (r < 0)
		fail_to_create(r);
	else if (is_whole() && !is_quiet && r == 0)
		fprintf(stderr, "stackpipe heap: wrote '%s'; for a report: stackpipe heap %s\n",
			output, output);
	new_file_close(&stream);
	return r < 0 && !status ? STAGE_EXIT_FAILED : status;
}

static int record(void)
{
	int status;

	if (is_for_sink()) {
		if (pipeline_add(&recording, "capture-sink") < 0)
			return STAGE_EXIT_FAILED;
		if (is_forced)
			add(SINK, "--force");
		if (is_quiet)
			add(SINK, "-q");
		if (sandbox)
			pass_on(SINK, "--sandbox", sandbox);
		if (format)
			pass_on(SINK, "-f", format);
		if (pipeline_add_file(&recording, output) < 0)
			abort();
	}
	if (is_shown) {
		pipeline_print(&recording, stdout);
		return STAGE_EXIT_OK;
	}
	if (strcmp(output, "-"))
		recording.command_output_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	if (!is_for_sink() && open_output() < 0)
		return STAGE_EXIT_FAILED;
	pipeline_stop_by_signal(&recording);
	status = pipeline_start(&recording, NULL);
	return finish_recording(status ? status : pipeline_wait(&recording));
}

static const char *unit_name(void)
{
	return report.unit == HEAP_BYTES ? "bytes" : "blocks";
}

static int finish(struct stage *stage, void *self, enum stage_stream_end end)
{
	struct heap_recorder *recorder = self;
	int r = recorder_finish(&recorder->recorder, stage);

	if (r < 0)
		return r;
	heap_finish(&recorder->heap, stage->end_time);
	report.heap = recorder;
	report.end = end;
	report.options.unit_name = unit_name();
	r = report.options.is_json ? heap_report_print_json(&report, stdout)
				   : heap_report_print_text(&report, stdout);
	if (r == 0 && (fflush(stdout) || ferror(stdout)))
		r = errno == EPIPE ? 0 : -EIO; /* EPIPE: the reader closed early */
	return r;
}

/* Options give the points in seconds since the start of the stream. */
static int start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct heap_recorder *recorder = self;

	for (int i = 0; i < HEAP_POINTS_MAX; i++)
		if (report.points[i] >= 0)
			recorder->heap.points[i] =
				isfinite(report.points[i])
					? hello->start_time +
						  report.points[i] * NANOSECONDS_A_SECOND
					: UINT64_MAX - 1;
	recorder->heap.scope = report.scope;
	recorder->recorder.stacks.names.keeps_lines = report.options.detail == TREE_OF_LINES;
	return recorder_start(stage, &recorder->recorder, hello);
}

static const struct stage_handler handlers[] = {
	HEAP_RECORDER_HANDLERS(0),
	{ 0 },
};

static int read_file(void)
{
	static const struct stage_program program = {
		.name = "stackpipe heap",
		.role = STAGE_SINK,
		.self_size = sizeof(struct heap_recorder),
		.handlers = handlers,
		.init = heap_recorder_init,
		.start = start,
		.finish = finish,
		.deinit = heap_recorder_deinit,
	};

	if (input_add_stages(&reading, input ? input : DEFAULT_FILE, "heap") < 0)
		return STAGE_EXIT_FAILED;
	if (is_shown) {
		pipeline_print(&reading, stdout);
		return STAGE_EXIT_OK;
	}
	return pipeline_end_with(&reading, &program);
}

/* Compares two recordings; capture-sink extracts the amounts of each. */
static int compare(void)
{
	const struct heap_against against = {
		.report = &report,
		.before = base,
		.after = input ? input : DEFAULT_FILE,
	};

	report.options.unit_name = unit_name();
	return heap_against_print(&against);
}

int command_heap(int argc, char **argv)
{
	static const char *const names[] = { "preload-source", "live-unwinder", "symbolizer" };
	static const struct argp argp = { options, parse_option, "[FILE]\n-- COMMAND [ARG...]",
					  "Show where the memory of a program goes." };
	int status;

	for (int i = 0; i < N_STAGES - 1; i++)
		if (pipeline_add(&recording, names[i]) < 0)
			return STAGE_EXIT_FAILED;
	arguments_parse(&argp, "stackpipe heap", argc, argv, ARGP_IN_ORDER, NULL);
	status = has_command ? record() : base ? compare() : read_file();
	if (report.options.subject)
		regfree(report.options.subject);
	free(report.options.subject);
	pipeline_deinit(&recording);
	pipeline_deinit(&reading);
	return status;
}
