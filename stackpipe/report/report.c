/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe report: the last stage of a pipeline that reads a recording; prints where time went. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/stage/arguments.h"
#include "profile/interpreter-frames.h"
#include "stackpipe/commands.h"
#include "stackpipe/input.h"
#include "stackpipe/regex-option.h"
#include "stackpipe/report/report.h"

enum {
	KEY_JSON = 0x100,
	KEY_LINES,
	KEY_KERNEL,
	KEY_WEIGHTS,
	KEY_VIEW,
	KEY_TIME,
	KEY_PROCESS,
	KEY_THREAD,
	KEY_CGROUP,
	KEY_BY,
	KEY_WHERE,
	KEY_SYMBOL,
	KEY_CALLERS,
	KEY_CALLEES,
	KEY_MIN,
	KEY_SHOW,
	KEY_INTERPRETER,
};

enum { ROWS_DEFAULT = 25, COLUMNS_WIDTH = 58 };

static struct report_options options = {
	.n_rows = ROWS_DEFAULT,
	.min_percent = 1,
	.hides_interpreters = true,
	.pid = -1,
	.unit_name = "samples",
};
static struct pipeline pipeline = { .front = "stackpipe report" }; /* we are its last stage */

static void parse_time(const char *text, const struct argp_state *state)
{
	char *end;

	options.from = *text == ':' ? 0 : strtod(text, &end);
	if (*text == ':')
		end = (char *)text;
	if (*end == ':')
		options.to = end[1] ? strtod(end + 1, &end) : (end++, 0);
	if (*end || options.from < 0 || options.to < 0 ||
	    (options.to > 0 && options.to <= options.from) || !isfinite(options.from + options.to))
		stage_usage_error(state, "--time takes FROM:TO in seconds, not '%s'", text);
}

static void parse_by(const char *text, const struct argp_state *state)
{
	options.by_name = text;
	if (!label_parse(text, &options.by))
		stage_usage_error(state, "--by takes " LABEL_WORDS ", not '%s'", text);
}

/* WHAT=REGEX; the name of an attribute has no '='. */
static void parse_where(char *text, const struct argp_state *state)
{
	char *equals = strchr(text, '=');
	struct report_condition *condition = &options.conditions[options.n_conditions];

	if (options.n_conditions == REPORT_CONDITIONS_MAX)
		stage_usage_error(state, "--where may be given %d times", REPORT_CONDITIONS_MAX);
	if (equals)
		*equals = 0;
	if (!equals || !label_parse(text, &condition->label))
		stage_usage_error(state,
				  "--where takes WHAT=REGEX, and WHAT is " LABEL_WORDS ", not '%s'",
				  text);
	condition->regex = regex_option_compile(equals + 1, state);
	options.n_conditions++;
}

static uint64_t parse_number(const char *text, const char *what, uint64_t max,
			     const struct argp_state *state)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || n > max)
		stage_usage_error(state, "%s takes a number, not '%s'", what, text);
	return n;
}

static double parse_percent(const char *text, struct argp_state *state)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent >= 0))
		stage_usage_error(state, "--min takes a percentage, not '%s'", text);
	return percent;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 't':
		options.kind = REPORT_TREE;
		return 0;
	case KEY_CALLERS:
	case KEY_CALLEES:
		options.kind = key == KEY_CALLERS ? REPORT_CALLERS : REPORT_CALLEES;
		options.subject = regex_option_compile(arg, state);
		return 0;
	case 'n':
		options.n_rows = parse_number(arg, "-n", SIZE_MAX, state);
		return 0;
	case 'p':
		options.pid = parse_number(arg, "-p", UINT32_MAX, state);
		return 0;
	case KEY_MIN:
		options.min_percent = parse_percent(arg, state);
		return 0;
	case KEY_WEIGHTS:
		options.view.kind = VIEW_WEIGHTS;
		options.unit_name = "events";
		return 0;
	case KEY_VIEW:
		options.view_name = arg;
		return 0;
	case KEY_LINES:
		options.detail = TREE_OF_LINES;
		return 0;
	case KEY_KERNEL:
		options.shows_kernel = true;
		return 0;
	case KEY_INTERPRETER:
		if (!interpreter_frames_parse(arg, &options.hides_interpreters))
			stage_usage_error(
				state, "--interpreter takes " INTERPRETER_WORDS ", not '%s'", arg);
		return 0;
	case KEY_JSON:
		options.is_json = true;
		return 0;
	case KEY_SHOW:
		options.is_shown = true;
		return 0;
	case KEY_TIME:
		parse_time(arg, state);
		return 0;
	case KEY_PROCESS:
		options.process = regex_option_compile(arg, state);
		return 0;
	case KEY_THREAD:
		options.thread = regex_option_compile(arg, state);
		return 0;
	case KEY_CGROUP:
		options.cgroup = regex_option_compile(arg, state);
		return 0;
	case KEY_BY:
		parse_by(arg, state);
		return 0;
	case KEY_WHERE:
		parse_where(arg, state);
		return 0;
	case KEY_SYMBOL:
		options.symbol = regex_option_compile(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (options.path)
			stage_usage_error(state, "unexpected argument '%s': report takes one file",
					  arg);
		options.path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!options.path)
			options.path = "stackpipe.syscap";
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_table[] = {
	{ "tree", 't', NULL, 0, "Show the call tree instead of a list of functions", 0 },
	{ "callers", KEY_CALLERS, "REGEX", 0, "Show the callers of functions whose names match",
	  0 },
	{ "callees", KEY_CALLEES, "REGEX", 0, "Show the callees of functions whose names match",
	  0 },
	{ "by", KEY_BY, "WHAT", 0,
	  "List samples by what programs publish: " LABEL_WORDS
	  " of their trace context, or of their process",
	  0 },
	{ "lines", KEY_LINES, NULL, 0, "Show each source line of a function separately", 0 },
	{ "kernel", KEY_KERNEL, NULL, 0, "Also show the kernel functions of waits", 0 },
	{ "interpreter", KEY_INTERPRETER, "WORD", 0,
	  "Whether to hide or show an interpreter's own functions that run a script's (default hide)",
	  0 },
	{ "json", KEY_JSON, NULL, 0, "Print JSON", 0 },
	{ "weights", KEY_WEIGHTS, NULL, 0,
	  "Count events (the weights of samples) instead of samples", 0 },
	{ "view", KEY_VIEW, "VIEW", 0,
	  "What to count: samples (of the first event; default), an event name, or, if waits were recorded, "
	  "on-cpu (then the default), off-cpu, wakeups or wall-clock (then the default of trees)",
	  0 },
	{ "rows", 'n', "N", 0, "Rows to show of each list (default 25, 0 for all)", 0 },
	{ "min", KEY_MIN, "PERCENT", 0, "Hide branches of a tree below this percentage (default 1)",
	  0 },
	{ "show-pipeline", KEY_SHOW, NULL, 0,
	  "Print the shell pipeline that the report reads and exit", 0 },
	{ NULL, 0, NULL, 0, "Which samples to count:", 1 },
	{ "process", KEY_PROCESS, "REGEX", 0, "Only processes whose names match", 1 },
	{ "pid", 'p', "PID", 0, "Only this process", 1 },
	{ "thread", KEY_THREAD, "REGEX", 0, "Only threads whose names match", 1 },
	{ "cgroup", KEY_CGROUP, "REGEX", 0,
	  "Only processes whose control groups (containers, systemd units) match", 1 },
	{ "where", KEY_WHERE, "WHAT=REGEX", 0,
	  "Only samples of which this, as for --by, matches; all of several must", 1 },
	{ "time", KEY_TIME, "FROM:TO", 0,
	  "Only this time range, in seconds since the recording began", 1 },
	{ "symbol", KEY_SYMBOL, "REGEX", 0, "Only stacks with a function whose name matches", 1 },
	{ 0 },
};

/* Returns by thread of the profile whether it passes the filters. NULL: no memory. */
static bool *select_threads(const struct profile *profile)
{
	bool *selected = calloc(profile->n_threads + 1, sizeof(*selected));

	for (size_t i = 0; selected && i < profile->n_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		const struct profile_process *process = &profile->processes[thread->process];

		selected[i] =
			(options.pid < 0 || options.pid == process->pid) &&
			regex_option_matches(options.process,
					     profile_text(profile, process->name)) &&
			regex_option_matches(options.cgroup,
					     profile_text(profile, process->cgroup)) &&
			regex_option_matches(options.thread, profile_text(profile, thread->name));
	}
	return selected;
}

/* Returns by function of the tree whether its name matches. NULL: no memory. */
static bool *select_functions(const struct tree *tree, const regex_t *regex)
{
	bool *selected = calloc(tree->n_functions + 1, sizeof(*selected));

	for (size_t i = 0; selected && i < tree->n_functions; i++)
		selected[i] = regex_option_matches(
			regex, profile_text(tree->profile, tree->functions[i].name));
	return selected;
}

/* A first look at a recording with waits also shows how long threads waited, and for what. */
static int count_waits(struct report *report, struct counts_filter filter)
{
	const struct events *events = &report->recorder->stacks.events;

	report->is_first_look = !options.view_name && events_have_waits(events);
	if (!report->is_first_look || !view_find(events, "off-cpu", &filter.view))
		return 0;
	return counts_init(&report->waits, &report->tree, &filter);
}

static bool is_wanted(const struct profile_sample *sample, const void *arg)
{
	return report_labels_match(arg, sample);
}

static int add_labelled(const struct profile_sample *sample, uint64_t n, void *arg)
{
	return report_labels_add(arg, sample, n);
}

static int count(struct report *report)
{
	uint64_t start = report->recorder->stacks.hello.start_time;
	_cleanup_free_ bool *functions =
		options.symbol ? select_functions(&report->tree, options.symbol) : NULL;
	struct counts_filter filter = {
		.from = start + options.from * NANOSECONDS_A_SECOND,
		.to = options.to > 0 ? start + options.to * NANOSECONDS_A_SECOND : 0,
		.threads = report->is_thread,
		.functions = functions,
		.view = options.view,
		.has_waiters = !options.shows_kernel,
		.is_wanted = options.n_conditions ? is_wanted : NULL,
		.add = options.by.kind ? add_labelled : NULL,
		.arg = report,
	};
	int r;

	if (!report->is_thread || (options.symbol && !functions))
		return -ENOMEM;
	r = counts_init(&report->counts, &report->tree, &filter);
	report_labels_sort(&report->labels);
	filter.add = NULL;
	return r < 0 ? r : count_waits(report, filter);
}

/* Returns the columns left for a name beside the numbers and the binary; 0: no terminal. */
static size_t name_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col > 2 * COLUMNS_WIDTH ? size.ws_col - COLUMNS_WIDTH : COLUMNS_WIDTH;
}

static int print(struct report *report)
{
	_cleanup_free_ bool *subject =
		options.subject ? select_functions(&report->tree, options.subject) : NULL;

	if (options.subject && !subject)
		return -ENOMEM;
	report->is_subject = subject;
	options.name_width = name_width();
	if (options.is_json)
		report_print_json(report, stdout);
	else
		report_print_text(report, stdout);
	/* EPIPE: the reader (head, less) closed early. */
	return (fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE ? 0 : -EIO;
}

/* Runs at the end of the stream, as only then all events are known. */
static int choose_view(struct stage *stage, const struct events *events)
{
	char names[EVENTS_VIEW_NAMES];

	if (!options.view_name) {
		/* Trees show wall-clock time; functions CPU time, beside a list of waits. */
		const char *name = options.kind == REPORT_FUNCTIONS ? "on-cpu" : "wall-clock";
		bool has_times = !options.is_json && events_have_waits(events) &&
				 view_find(events, name, &options.view);

		if (!has_times)
			return 0;
	} else if (!view_find(events, options.view_name, &options.view)) {
		events_view_names(events, names);
		stage_error(stage, "this recording has no view '%s'; it has: %s", options.view_name,
			    names);
		return -ECANCELED;
	}
	options.unit_name = options.view.kind == VIEW_SAMPLES ? "samples" : "events";
	if (view_is_time(events, options.view)) {
		options.unit_name = "ms";
		options.unit = NANOSECONDS_A_MILLISECOND;
	}
	return 0;
}

static int finish(struct stage *stage, void *self, enum stage_stream_end end)
{
	struct report report = { .options = &options, .recorder = self, .end = end };
	int r = recorder_finish(report.recorder, stage);

	report_labels_init(&report.labels);
	if (r == -ENOTRECOVERABLE)
		stage_error(stage, "the sample counts do not add up: this is a bug in "
				   "stackpipe, please report it");
	if (r == 0)
		r = choose_view(stage, &report.recorder->stacks.events);
	if (r == 0)
		r = tree_init(&report.tree, &report.recorder->profile, options.detail);
	report.is_thread = select_threads(&report.recorder->profile);
	if (r == 0)
		r = count(&report);
	if (r == 0)
		r = print(&report);
	counts_deinit(&report.counts);
	counts_deinit(&report.waits);
	tree_deinit(&report.tree);
	free(report.is_thread);
	report_labels_deinit(&report.labels);
	return r;
}

/* Lines are kept with --lines only, as they take memory. */
static int start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct recorder *recorder = self;

	recorder->stacks.names.keeps_lines = options.detail == TREE_OF_LINES;
	recorder->stacks.hides_interpreters = options.hides_interpreters;
	return recorder_start(stage, self, hello);
}

static const struct stage_handler handlers[] = {
	RECORDER_HANDLERS(0),
	{ 0 },
};

/* Runs the reading pipeline, with this process as its last stage. */
static int run(void)
{
	static const struct stage_program program = {
		.name = "stackpipe report",
		.role = STAGE_SINK,
		.self_size = sizeof(struct recorder),
		.handlers = handlers,
		.init = recorder_init,
		.start = start,
		.finish = finish,
		.deinit = recorder_deinit,
	};

	return pipeline_end_with(&pipeline, &program);
}

static void free_options(void)
{
	regex_option_free(options.process);
	regex_option_free(options.thread);
	regex_option_free(options.cgroup);
	regex_option_free(options.symbol);
	regex_option_free(options.subject);
	for (size_t i = 0; i < options.n_conditions; i++)
		regex_option_free(options.conditions[i].regex);
	pipeline_deinit(&pipeline);
}

int command_report(int argc, char **argv)
{
	static const struct argp argp = { option_table, parse_option, "[FILE]",
					  "Show where the time of a recording went." };
	int status = STAGE_EXIT_FAILED;

	arguments_parse(&argp, "stackpipe report", argc, argv, 0, NULL);
	if (input_add_stages(&pipeline, options.path, "report") == 0) {
		if (options.is_shown)
			pipeline_print(&pipeline, stdout);
		status = options.is_shown ? STAGE_EXIT_OK : run();
	}
	free_options();
	return status;
}
