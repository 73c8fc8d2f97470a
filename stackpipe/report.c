/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe report: reads a recording as a stage, and says where the time went. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/pair-map.h"
#include "stackpipe/commands.h"
#include "stackpipe/input.h"
#include "stackpipe/report.h"

enum {
	KEY_JSON = 0x100,
	KEY_WEIGHTS,
	KEY_TIME,
	KEY_PROCESS,
	KEY_THREAD,
	KEY_SYMBOL,
	KEY_CALLERS,
	KEY_CALLEES,
	KEY_MIN,
	KEY_SHOW,
};

enum { ROWS_DEFAULT = 25 };

static struct report_options options = {
	.n_rows = ROWS_DEFAULT,
	.min_percent = 1,
	.pid = -1,
	.unit_name = "samples",
};
static struct pipeline pipeline; /* whose end we are */

static regex_t *compile(const char *text, const struct argp_state *state)
{
	regex_t *regex = calloc(1, sizeof(*regex));
	char message[256];
	int error = regex ? regcomp(regex, text, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;

	if (!error)
		return regex;
	regerror(error, regex, message, sizeof(message));
	stage_usage_error(state, "'%s' is no regular expression: %s", text, message);
}

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
		stage_usage_error(state, "--time is FROM:TO in seconds, not '%s'", text);
}

static uint64_t parse_number(const char *text, const char *what, const struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *text == '-' || *end)
		stage_usage_error(state, "%s is a number, not '%s'", what, text);
	return n;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	char *end;

	switch (key) {
	case 't':
		options.kind = REPORT_TREE;
		return 0;
	case KEY_CALLERS:
	case KEY_CALLEES:
		options.kind = key == KEY_CALLERS ? REPORT_CALLERS : REPORT_CALLEES;
		options.subject = compile(arg, state);
		return 0;
	case 'n':
		options.n_rows = parse_number(arg, "-n", state);
		return 0;
	case 'p':
		options.pid = parse_number(arg, "-p", state);
		return 0;
	case KEY_MIN:
		options.min_percent = strtod(arg, &end);
		if (*end || !(options.min_percent >= 0))
			stage_usage_error(state, "--min is a percentage, not '%s'", arg);
		return 0;
	case KEY_WEIGHTS:
		options.unit = COUNTS_WEIGHTS;
		options.unit_name = "events";
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
		options.process = compile(arg, state);
		return 0;
	case KEY_THREAD:
		options.thread = compile(arg, state);
		return 0;
	case KEY_SYMBOL:
		options.symbol = compile(arg, state);
		return 0;
	case ARGP_KEY_ARG:
		if (options.path)
			stage_usage_error(state, "one file, not '%s' too", arg);
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
	{ "tree", 't', NULL, 0, "Who calls whom, instead of single functions", 0 },
	{ "callers", KEY_CALLERS, "REGEX", 0, "Who calls the functions that match", 0 },
	{ "callees", KEY_CALLEES, "REGEX", 0, "Whom the functions that match call", 0 },
	{ "json", KEY_JSON, NULL, 0, "For programs", 0 },
	{ "weights", KEY_WEIGHTS, NULL, 0, "Count the events that samples stand for", 0 },
	{ "rows", 'n', "N", 0, "So many of each list (25; 0: all)", 0 },
	{ "min", KEY_MIN, "PERCENT", 0, "Leave smaller branches of a tree out (1)", 0 },
	{ "show-pipeline", KEY_SHOW, NULL, 0, "Print the shell's pipeline that is read", 0 },
	{ NULL, 0, NULL, 0, "Which samples are looked at:", 1 },
	{ "process", KEY_PROCESS, "REGEX", 0, "Of processes with such a name", 1 },
	{ "pid", 'p', "PID", 0, "Of this process", 1 },
	{ "thread", KEY_THREAD, "REGEX", 0, "Of threads with such a name", 1 },
	{ "time", KEY_TIME, "FROM:TO", 0, "In these seconds since the beginning", 1 },
	{ "symbol", KEY_SYMBOL, "REGEX", 0, "With a function of such a name in the stack", 1 },
	{ 0 },
};

static bool matches(const regex_t *regex, const char *text)
{
	return !regex || regexec(regex, text, 0, NULL, 0) == 0;
}

/* By thread of the profile: whether it is looked at. NULL: no memory. */
static bool *select_threads(const struct profile *profile)
{
	bool *selected = calloc(profile->n_threads + 1, sizeof(*selected));

	for (size_t i = 0; selected && i < profile->n_threads; i++) {
		const struct profile_thread *thread = &profile->threads[i];
		const struct profile_process *process = &profile->processes[thread->process];

		selected[i] = (options.pid < 0 || options.pid == process->pid) &&
			      matches(options.process, profile_text(profile, process->name)) &&
			      matches(options.thread, profile_text(profile, thread->name));
	}
	return selected;
}

/* By function of the tree: whether its name matches. NULL: no memory. */
static bool *select_functions(const struct tree *tree, const regex_t *regex)
{
	bool *selected = calloc(tree->n_functions + 1, sizeof(*selected));

	for (size_t i = 0; selected && i < tree->n_functions; i++)
		selected[i] = matches(regex, profile_text(tree->profile, tree->functions[i].name));
	return selected;
}

static int count(struct report *report)
{
	const struct profile *profile = &report->gathering->profile;
	uint64_t start = report->gathering->stacks.hello.start_time;
	_cleanup_free_ bool *threads = select_threads(profile);
	_cleanup_free_ bool *functions =
		options.symbol ? select_functions(&report->tree, options.symbol) : NULL;
	const struct counts_filter filter = {
		.from = start + options.from * NANOSECONDS_A_SECOND,
		.to = options.to > 0 ? start + options.to * NANOSECONDS_A_SECOND : 0,
		.threads = threads,
		.functions = functions,
		.unit = options.unit,
	};

	if (!threads || (options.symbol && !functions))
		return -ENOMEM;
	return counts_init(&report->counts, &report->tree, &filter);
}

static int print(struct report *report)
{
	_cleanup_free_ bool *subject =
		options.subject ? select_functions(&report->tree, options.subject) : NULL;

	if (options.subject && !subject)
		return -ENOMEM;
	report->is_subject = subject;
	if (options.is_json)
		report_print_json(report, stdout);
	else
		report_print_text(report, stdout);
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : -EIO;
}

static int finish(struct stage *stage, void *self, enum stage_stream_end end)
{
	struct report report = { .options = &options, .gathering = self, .end = end };
	int r;

	stacks_finish(&report.gathering->stacks, stage);
	profile_settle(&report.gathering->profile);
	r = tree_init(&report.tree, &report.gathering->profile);
	if (r == 0)
		r = count(&report);
	if (r == 0)
		r = print(&report);
	counts_deinit(&report.counts);
	tree_deinit(&report.tree);
	return r;
}

static uint32_t name_of(const struct report *report, enum report_group group, uint32_t thread,
			uint32_t *ret_id)
{
	const struct profile *profile = &report->gathering->profile;
	const struct profile_thread *found = &profile->threads[thread];
	const struct profile_process *process = &profile->processes[found->process];

	*ret_id = group == REPORT_BY_THREAD ? found->tid : process->pid;
	return group == REPORT_BY_THREAD ? found->name : process->name;
}

static int compare_rows(const void *a, const void *b)
{
	const struct report_row *left = a, *right = b;

	if (left->n != right->n)
		return left->n > right->n ? -1 : 1;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return left->name < right->name ? -1 : left->name > right->name;
}

static int add_row(struct pair_map *index, struct report_row *rows, size_t *n, uint32_t name,
		   uint32_t id, uint64_t n_samples)
{
	uint64_t *known = pair_map_find(index, name, id);
	int r = 0;

	if (!n_samples)
		return 0;
	if (!known) {
		r = pair_map_add(index, name, id, *n);
		rows[(*n)++] = (struct report_row){ name, n_samples, id };
	} else {
		rows[*known].n += n_samples;
	}
	return r;
}

int report_group(const struct report *report, enum report_group group, struct report_row **ret,
		 size_t *ret_n)
{
	const struct profile *profile = &report->gathering->profile;
	const struct tree *tree = &report->tree;
	size_t n_max = group == REPORT_BY_IMAGE ? tree->n_functions : profile->n_threads;
	struct report_row *rows = calloc(n_max + 1, sizeof(*rows));
	struct pair_map index;
	size_t n = 0;
	int r = rows ? 0 : -ENOMEM;

	pair_map_init(&index, n_max + 1);
	for (size_t i = 0; i < n_max && r == 0; i++) {
		uint32_t id = 0, name;

		if (group == REPORT_BY_IMAGE) {
			name = profile->modules[tree->functions[i].module].path;
			r = add_row(&index, rows, &n, name, 0, report->counts.functions[i].self);
		} else {
			name = name_of(report, group, i, &id);
			r = add_row(&index, rows, &n, name, id, report->counts.of_thread[i]);
		}
	}
	pair_map_deinit(&index);
	if (r < 0) {
		free(rows);
		return r;
	}
	qsort(rows, n, sizeof(*rows), compare_rows);
	*ret = rows;
	*ret_n = n;
	return 0;
}

static const struct stage_handler handlers[] = {
	GATHERING_HANDLERS,
	{ 0 },
};

/* The end of the pipeline that reads the file. */
static int run(void)
{
	static const struct stage_program program = {
		.name = "stackpipe report",
		.role = STAGE_SINK,
		.self_size = sizeof(struct gathering),
		.handlers = handlers,
		.init = gathering_init,
		.start = gathering_start,
		.finish = finish,
		.deinit = gathering_deinit,
	};

	return pipeline_end_with(&pipeline, &program);
}

static void free_regex(regex_t *regex)
{
	if (regex)
		regfree(regex);
	free(regex);
}

static void free_options(void)
{
	free_regex(options.process);
	free_regex(options.thread);
	free_regex(options.symbol);
	free_regex(options.subject);
	pipeline_deinit(&pipeline);
}

int command_report(int argc, char **argv)
{
	static const struct argp argp = { option_table, parse_option, "[FILE]",
					  "Says where the time went that a recording is of." };
	int status = STAGE_EXIT_FAILED;

	argp_err_exit_status = STAGE_EXIT_USAGE;
	argv[0] = "stackpipe report";
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (input_add_stages(&pipeline, options.path, "report") == 0) {
		if (options.is_shown)
			pipeline_print(&pipeline, stdout);
		status = options.is_shown ? STAGE_EXIT_OK : run();
	}
	free_options();
	return status;
}
