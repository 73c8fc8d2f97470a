/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe top: the last stage of a pipeline, which redraws the screen ten times a second. */
#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/file/output-file.h"
#include "common/stage/arguments.h"
#include "profile/interpreter-frames.h"
#include "stackpipe/commands.h"
#include "stackpipe/pipeline.h"
#include "stackpipe/regex-option.h"
#include "stackpipe/top/terminal.h"
#include "stackpipe/top/top-tree.h"

enum {
	TICK_MS = 100,
	ESCAPE = 27,
	WINDOW_DEFAULT_S = 5,
	WINDOW_MAX_S = 60,
	KEY_OFF_CPU = 0x200, /* option keys, distinct from curses' keys */
	KEY_CGROUP,
	KEY_INTERPRETER,
	NODES_KEPT = 1 << 21, /* limit of the profile's tree before it is reset */
	HELD_MAX = 4096,      /* bytes of held messages printed at the end */
};

static struct pipeline pipeline = { .front = "stackpipe top" }; /* we are its last stage */
static bool has_quit;						/* by 'q' or a signal */
static regex_t *cgroups;					/* --cgroup; NULL: all */

static int set_filter(struct top *top, const char *text)
{
	regex_t symbol;

	if (*text && regcomp(&symbol, text, REG_EXTENDED | REG_NOSUB | REG_ICASE)) {
		snprintf(top->message, sizeof(top->message), "invalid regular expression '%s'",
			 text);
		return 0; /* the filter stays */
	}
	if (top->has_symbol)
		regfree(&top->symbol);
	top->has_symbol = *text;
	if (top->has_symbol)
		top->symbol = symbol;
	top->counts.symbol = top->has_symbol ? &top->symbol : NULL;
	return live_counts_again(&top->counts);
}

static int type(struct top *top, int key)
{
	struct top_prompt *prompt = &top->prompt;

	if (key == '\r' || key == '\n' || key == KEY_ENTER) {
		prompt->is_open = false;
		return set_filter(top, prompt->text);
	}
	if (key == ESCAPE) {
		prompt->is_open = false;
		prompt->text[prompt->n = 0] = 0;
		return set_filter(top, "");
	}
	if ((key == KEY_BACKSPACE || key == 127 || key == 8) && prompt->n)
		prompt->text[--prompt->n] = 0;
	else if (key >= ' ' && key < 127 && prompt->n + 1 < sizeof(prompt->text)) {
		prompt->text[prompt->n++] = key;
		prompt->text[prompt->n] = 0;
	}
	return 0;
}

static void save(struct top *top)
{
	char path[64];
	time_t now = time(NULL);
	struct tm broken_down;
	FILE *out;
	int fd, r;

	if (!top->counts.n) {
		snprintf(top->message, sizeof(top->message), "nothing to save yet");
		return;
	}
	localtime_r(&now, &broken_down);
	strftime(path, sizeof(path), "stackpipe-top-%Y%m%d-%H%M%S.folded", &broken_down);
	fd = output_file_open(path, OUTPUT_FILE_NEW);
	out = fd < 0 ? NULL : fdopen(fd, "w"); /* fails for lack of memory only */
	r = out ? top_save(top, out) : fd < 0 ? fd : -ENOMEM;
	if (out && fclose(out) != 0 && r == 0)
		r = -errno;
	if (r < 0)
		snprintf(top->message, sizeof(top->message), "could not write '%s': %s", path,
			 strerror(-r));
	else
		snprintf(top->message, sizeof(top->message),
			 "saved; for a report: stackpipe report %s", path);
}

/* Zooms into the selected process, control group or function. */
static int zoom(struct top *top)
{
	uint32_t process;

	if (!top->n_rows || top->view == TOP_FUNCTION)
		return 0;
	if (top->view == TOP_FUNCTIONS) {
		top->subject = top->rows[top->selected];
		top->view = TOP_FUNCTION;
		return 0;
	}
	process = top->groups[top->selected].process;
	if (top->view == TOP_PROCESSES)
		top->counts.process = process;
	else
		top->counts.cgroup = top->recorder.profile.processes[process].cgroup;
	top->view = TOP_FUNCTIONS;
	top->selected = 0;
	return live_counts_again(&top->counts);
}

/* Goes back one step: from a function, a list, a process or control group, or the filter. */
static int back(struct top *top)
{
	if (top->view != TOP_FUNCTIONS) {
		top->view = TOP_FUNCTIONS;
		return 0;
	}
	if (top->counts.process >= 0 || top->counts.cgroup >= 0) {
		top->counts.process = top->counts.cgroup = -1;
		return live_counts_again(&top->counts);
	}
	top->prompt.text[top->prompt.n = 0] = 0;
	return set_filter(top, "");
}

/* Switches to the next available view. */
static int change_view(struct top *top)
{
	struct view views[VIEWS_MAX], view = top->counts.view;
	size_t n = events_views(&top->recorder.stacks.events, views), i = 0;

	while (i < n && (views[i].kind != view.kind || views[i].event != view.event))
		i++;
	top->counts.view = views[i + 1 < n ? i + 1 : 0];
	return live_counts_again(&top->counts);
}

static void quit(struct top *top)
{
	top->is_over = has_quit = true;
	pipeline_stop(&pipeline, SIGINT);
}

static int press(struct top *top, int key)
{
	if (top->prompt.is_open)
		return type(top, key);
	*top->message = 0;
	switch (key) {
	case 'q':
		quit(top);
		return 0;
	case KEY_UP:
	case 'k':
		top->selected -= top->selected > 0;
		return 0;
	case KEY_DOWN:
	case 'j':
		top->selected++; /* clamped by find_rows() */
		return 0;
	case 's':
		top->order = top->order == LIVE_BY_SELF ? LIVE_BY_TOTAL : LIVE_BY_SELF;
		return 0;
	case 'p':
		top->view = TOP_PROCESSES;
		top->selected = 0;
		return 0;
	case 'c':
		top->view = TOP_CGROUPS;
		top->selected = 0;
		return 0;
	case 'v':
		return change_view(top);
	case '/':
		top->prompt.is_open = true;
		top->prompt.text[top->prompt.n = 0] = 0;
		return 0;
	case ' ':
		top->is_frozen = !top->is_frozen;
		return 0;
	case '+':
		top->window_s = top->window_s * 2 > WINDOW_MAX_S ? WINDOW_MAX_S : top->window_s * 2;
		return 0;
	case '-':
		top->window_s = top->window_s > 1 ? top->window_s / 2 : top->window_s;
		return 0;
	case 'w':
		save(top);
		return 0;
	case '\r':
	case '\n':
	case KEY_ENTER:
		return zoom(top);
	case ESCAPE:
	case KEY_BACKSPACE:
		return back(top);
	default:
		return 0;
	}
}

/* Finds the rows of the view, and clamps the selection to them. */
static void find_rows(struct top *top)
{
	if (top->view == TOP_PROCESSES || top->view == TOP_CGROUPS)
		top->n_rows = top_hottest_groups(top, top->groups, TOP_ROWS_MAX);
	else if (top->view == TOP_FUNCTIONS)
		top->n_rows =
			live_counts_hottest(&top->counts, top->order, top->rows, TOP_ROWS_MAX);
	if (top->selected >= top->n_rows)
		top->selected = top->n_rows ? top->n_rows - 1 : 0;
}

/* Resets the profile once its tree is large: a live stream has no end, memory does. */
static int make_room(struct top *top)
{
	struct profile *profile = &top->recorder.profile;
	struct view view = top->counts.view;
	int r;

	if (profile->n_nodes < NODES_KEPT)
		return 0;
	live_counts_deinit(&top->counts);
	profile_deinit(profile);
	frame_cache_forget_all(&top->recorder.stacks.frames);
	r = profile_init(profile, &top->recorder.stacks);
	profile->holds_still = true;
	live_counts_init(&top->counts, profile);
	top->counts.view = view;
	top->counts.cgroups = cgroups;
	top->counts.symbol = top->has_symbol ? &top->symbol : NULL;
	top->view = TOP_FUNCTIONS;
	return r;
}

static int follow(struct top *top)
{
	uint64_t now = top->recorder.stacks.last_time;
	uint64_t window = top->window_s * NANOSECONDS_A_SECOND;
	int r = make_room(top);

	return r < 0 ? r : live_counts_follow(&top->counts, now > window ? now - window : 0);
}

/* Measures the sample rate over about the last second. */
static void measure_rate(struct top *top, uint64_t now)
{
	uint64_t n = top->stage->samples_in;

	if (now - top->measured_at < NANOSECONDS_A_SECOND)
		return;
	if (top->measured_at)
		top->rate = (n - top->n_measured) * 1e9 / (now - top->measured_at);
	top->measured_at = now;
	top->n_measured = n;
}

static int tick(struct stage *stage, void *self)
{
	struct top *top = self;
	uint64_t now = clock_now(CLOCK_MONOTONIC);
	bool has_changed = false;
	int key, r = 0;

	if (stage_should_stop() && !top->is_over)
		quit(top);
	if (top->is_over || !top->has_screen)
		return 0;
	while ((key = top_screen_key()) && r == 0) {
		r = press(top, key);
		has_changed = true;
	}
	if (now - top->drawn_at < TICK_MS * NANOSECONDS_A_MILLISECOND && !has_changed)
		return r;
	measure_rate(top, now);
	if (r == 0 && !top->is_frozen)
		r = follow(top);
	if (r == 0 && !top->is_over) {
		if (!top->is_frozen || has_changed)
			find_rows(top);
		top_screen_draw(top);
	}
	top->drawn_at = now;
	return r;
}

static const char *target = "this machine"; /* shown in the head */
static bool hides_interpreters = true;

static int start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct top *top = self;
	int r;

	top->recorder.stacks.hides_interpreters = hides_interpreters;
	r = recorder_start(stage, &top->recorder, hello);
	if (r < 0)
		return r;
	top->recorder.profile.holds_still = true;
	top->stage = stage;
	top->target = target;
	top->window_s = WINDOW_DEFAULT_S;
	live_counts_init(&top->counts, &top->recorder.profile);
	top->counts.cgroups = cgroups;
	r = top_screen_open(top);
	if (r == 0)
		return 0;
	stage_error(stage, "the live view needs a terminal: %s", strerror(-r));
	return -ECANCELED;
}

static int handle_lost(struct stage *stage, void *self, const void *view)
{
	const struct wire_lost *lost = view;
	struct top *top = self;

	stage_sum(stage, &top->n_lost, lost->n);
	return 0;
}

static int handle_counter(struct stage *stage, void *self, const void *view)
{
	struct top *top = self;

	return top_gauges_add(&top->gauges, view);
}

static int handle_counter_values(struct stage *stage, void *self, const void *view)
{
	struct top *top = self;

	top_gauges_set(&top->gauges, view);
	return 0;
}

static int finish(struct stage *stage, void *self, enum stage_stream_end end)
{
	top_screen_close(self);
	return 0;
}

static void init(void *self)
{
	struct top *top = self;

	recorder_init(&top->recorder);
	top->recorder.wants = 0;
}

static void deinit(void *self)
{
	struct top *top = self;

	top_screen_close(top);
	if (top->has_symbol)
		regfree(&top->symbol);
	live_counts_deinit(&top->counts);
	top_gauges_deinit(&top->gauges);
	recorder_deinit(&top->recorder);
}

static const struct stage_handler handlers[] = {
	{ WIRE_RECORD_lost, handle_lost }, /* first: the first of a type wins */
	{ WIRE_RECORD_counter, handle_counter },
	{ WIRE_RECORD_counter_values, handle_counter_values },
	RECORDER_HANDLERS(offsetof(struct top, recorder)),
	{ 0 },
};

/* Passes an option on to perf-source. */
static int pass_on(int key, const char *arg)
{
	static const char *const names[] = { "-p", "-F", "-s", "-e", "-d" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i][1] != key)
			continue;
		return pipeline_add_argument(&pipeline, names[i]) < 0 ||
				       pipeline_add_argument(&pipeline, arg) < 0
			       ? ENOMEM
			       : 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* "--off-cpu=US" is one argument. A value cut to this size is still refused by perf-source. */
static int add_off_cpu(const char *us)
{
	static char text[64]; /* borrowed by the pipeline */

	snprintf(text, sizeof(text), us ? "--off-cpu=%s" : "--off-cpu", us);
	return pipeline_add_argument(&pipeline, text) < 0 ? ENOMEM : 0;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case KEY_OFF_CPU:
		return add_off_cpu(arg);
	case KEY_CGROUP:
		regex_option_free(cgroups);
		cgroups = regex_option_compile(arg, state);
		return 0;
	case KEY_INTERPRETER:
		if (!interpreter_frames_parse(arg, &hides_interpreters))
			stage_usage_error(
				state, "--interpreter takes " INTERPRETER_WORDS ", not '%s'", arg);
		return 0;
	case ARGP_KEY_ARG:
		target = arg;
		if (pipeline_add_argument(&pipeline, "--") < 0)
			return ENOMEM;
		for (int i = state->next - 1; i < state->argc; i++)
			if (pipeline_add_argument(&pipeline, state->argv[i]) < 0)
				return ENOMEM;
		*(bool *)state->input = true;
		state->next = state->argc;
		return 0;
	case 'p':
		target = arg;
		*(bool *)state->input = true;
		return pass_on(key, arg);
	default:
		return pass_on(key, arg);
	}
}

static const struct argp_option options[] = {
	{ "pid", 'p', "PID[,PID]", 0, "Record these processes and their future children", 0 },
	{ "freq", 'F', "HZ", 0, "Sampling frequency per CPU (default 999, at most 20000)", 0 },
	{ "frequency", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "stack-size", 's', "BYTES", 0,
	  "Maximum stack bytes copied per sample (default 65528, or 32768 if ring buffers are small)",
	  0 },
	{ "event", 'e', "EVENT[,EVENT]", 0,
	  "Events to sample: cycles, cpu-clock, … (default cycles, or cpu-clock if the machine has no cycle "
	  "counter)",
	  0 },
	{ "duration", 'd', "SECONDS", 0, "Stop after this many seconds (default: no limit)", 0 },
	{ "off-cpu", KEY_OFF_CPU, "US", OPTION_ARG_OPTIONAL,
	  "Also record waits of at least US microseconds (default 100); the key v changes the view",
	  0 },
	{ "interpreter", KEY_INTERPRETER, "WORD", 0,
	  "Whether to hide or show an interpreter's own functions that run a script's (default hide)",
	  0 },
	{ "cgroup", KEY_CGROUP, "REGEX", 0,
	  "Count only processes whose control groups (containers, systemd units) match", 0 },
	{ 0 },
};

/* Messages printed meanwhile would garble the screen, so they are held back until it is closed. */
struct held_messages {
	FILE *log;
	int errors; /* the original standard error */
};

static void hold_back(struct held_messages *held)
{
	held->log = tmpfile();
	held->errors = dup(STDERR_FILENO);
	if (held->log && held->errors >= 0)
		dup2(fileno(held->log), STDERR_FILENO);
}

static void release(struct held_messages *held)
{
	char line[512];

	if (held->log && held->errors >= 0) {
		dup2(held->errors, STDERR_FILENO);
		/* Print only the end of a long log. */
		if (fseek(held->log, -HELD_MAX, SEEK_END) < 0)
			rewind(held->log);
		while (fgets(line, sizeof(line), held->log))
			fputs(line, stderr);
		fclose(held->log);
	}
	if (held->errors >= 0)
		close(held->errors);
}

/* Runs the recording pipeline, with this process as its last stage. */
static int run(void)
{
	static const struct stage_program program = {
		.name = "stackpipe top",
		.role = STAGE_SINK,
		.self_size = sizeof(struct top),
		.handlers = handlers,
		.tick_ms = TICK_MS,
		.init = init,
		.start = start,
		.tick = tick,
		.finish = finish,
		.deinit = deinit,
	};

	struct held_messages held;
	int status;

	signal(SIGINT, SIG_IGN);
	hold_back(&held);
	pipeline.command_output_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	status = pipeline_end_with(&pipeline, &program);
	release(&held);
	close(pipeline.command_output_fd);
	/* A command stopped together with us may fail; its exit status is of no interest then. */
	if (has_quit && status == pipeline.stages[0].status)
		return STAGE_EXIT_OK;
	return status && pipeline.stages[0].status ? pipeline.stages[0].status : status;
}

int command_top(int argc, char **argv)
{
	static const struct argp argp = { options, parse_option, "[-- COMMAND [ARG...]]",
					  "Show where time goes, live." };
	bool has_target = false;
	int status = STAGE_EXIT_FAILED;

	if (pipeline_add(&pipeline, "perf-source") < 0 ||
	    pipeline_add_argument(&pipeline, "-q") < 0 ||
	    pipeline_add_argument(&pipeline, "--counters") < 0)
		return status;
	arguments_parse(&argp, "stackpipe top", argc, argv, ARGP_IN_ORDER, &has_target);
	if (!terminal_is_there()) {
		pipeline_deinit(&pipeline);
		return status;
	}
	if ((has_target || pipeline_add_argument(&pipeline, "-a") == 0) &&
	    pipeline_add(&pipeline, "live-unwinder") == 0 &&
	    pipeline_add_argument(&pipeline, "-q") == 0 &&
	    pipeline_add(&pipeline, "symbolizer") == 0 &&
	    pipeline_add_argument(&pipeline, "-q") == 0)
		status = run();
	pipeline_deinit(&pipeline);
	regex_option_free(cgroups);
	return status;
}
