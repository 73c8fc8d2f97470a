/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perf-source: samples this machine's programs, with their stacks, by perf events. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/growing-list.h"
#include "perf-source/perf-source.h"
#include "perf-source/perf/sample-filter.h"

enum {
	KEY_OFF_CPU = 0x100,
	KEY_COUNTERS,
	KEY_MARKS,
	KEY_FILTER,
	KEY_SCHEDULER,
	KEY_STACK_LIMIT,
	KEY_NO_CONTEXTS,
	KEY_INTERPRETERS,
	KEY_NO_INTERPRETERS,
	KEY_UNWIND,
	KEY_JUDGE,
	KEY_NO_CACHE,
};
enum {
	DEFAULT_RATE = 999,
	PIDS_MAX = 4096,
	DEFAULT_COUNTERS_MS = 500,
	DEFAULT_JUDGED = 128,
	DEFAULT_LEVEL = 1,
};
#define COUNT_MAX 1e15

static const struct argp_option option_table[] = {
	{ "all", 'a', NULL, 0,
	  "Record all processes (default without COMMAND); with COMMAND, until it exits", 0 },
	{ "pid", 'p', "PID[,PID]", 0,
	  "Record these processes and the children that they create from now on", 0 },
	{ "freq", 'F', "HZ", 0, "Sampling frequency per CPU (default 999, at most 20000)", 0 },
	{ "frequency", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "count", 'c', "N", 0,
	  "Sample each Nth occurrence of an event (default: at a rate; of tracepoints and uprobes, all)",
	  0 },
	{ "stack-size", 's', "BYTES", 0,
	  "Copy at most BYTES of user stack per sample, a multiple of 8 (default 65528, the "
	  "maximum; 32768 where ring space is short; suffix K)",
	  0 },
	{ "stack-limit", KEY_STACK_LIMIT, "BYTES", 0,
	  "Read deeper stacks up to BYTES, by a BPF program (default 8M; with -s no more than that; "
	  "0: never; suffixes K, M)",
	  0 },
	{ "no-contexts", KEY_NO_CONTEXTS, NULL, 0,
	  "Do not record the trace contexts that programs publish (default: with BPF, those of all)",
	  0 },
	{ "no-interpreters", KEY_NO_INTERPRETERS, NULL, 0,
	  "Do not record the functions of programs in Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java and .NET "
	  "(default: with BPF, those of CPython 3.8 to 3.15, PHP 8.1 to 8.6, Perl 5.32 and 5.36 to 5.44, "
	  "Ruby 3.1 to 3.4, Lua 5.4 and 5.5, LuaJIT 2.1, Erlang/OTP 25 and 27, node 18 to 26, HotSpot of JDK 11, 17, 21, 24 to 27, and .NET 9 and 10)",
	  0 },
	{ "interpreters", KEY_INTERPRETERS, NULL, 0,
	  "Fail if the functions of programs in Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java and .NET cannot be "
	  "recorded (default: one message, once there is such a program)",
	  0 },
	{ "unwind", KEY_UNWIND, "WHERE", 0,
	  "Where stacks are walked: in the kernel, which copies those that it cannot walk; copy: all are "
	  "copied; auto: in the kernel where it can run BPF programs (default auto)",
	  0 },
	{ "judge", KEY_JUDGE, "N", 0,
	  "Of N stacks that the kernel walks copy one as well, so that live-unwinder compares both "
	  "(default 128; 0: none)",
	  0 },
	{ "no-cache", KEY_NO_CACHE, NULL, 0,
	  "Do not use unwind tables that live-unwinder has cached on disk (default: with BPF)", 0 },
	{ "duration", 'd', "SECONDS", 0,
	  "Stop recording after SECONDS; fractions are allowed (default: no limit)", 0 },
	{ "event", 'e', "EVENT[,EVENT]", 0,
	  "Events to sample: hardware or software events (default cycles; cpu-clock without a "
	  "cycle counter or with --off-cpu), tracepoints GROUP:NAME, or functions of programs, "
	  "uprobe:FILE:SYMBOL",
	  0 },
	{ "filter", KEY_FILTER, "FILTER", 0,
	  "Record only samples of the preceding -e that match (default: all): uid==1000, "
	  "comm==cc1||comm==ld; tracepoints and uprobes take the kernel's filter syntax",
	  0 },
	{ "off-cpu", KEY_OFF_CPU, "US", OPTION_ARG_OPTIONAL,
	  "Also record waits: each one of at least US microseconds (default 100, raised while "
	  "there are very many) with its stack; shorter waits are sampled, and summed by thread",
	  0 },
	{ "counters", KEY_COUNTERS, "MS", OPTION_ARG_OPTIONAL,
	  "Also record counters of the machine every MS milliseconds (default 500): CPUs, memory, "
	  "disks, network, pressure",
	  0 },
	{ "marks", KEY_MARKS, "PATH", 0,
	  "Create a datagram socket at PATH for marks of programs and scripts; COMMAND gets PATH "
	  "in $STACKPIPE_MARKS",
	  0 },
	{ "scheduler", KEY_SCHEDULER, NULL, 0,
	  "Also record, as marks, which thread ran on which CPU and when, and how long processes lived",
	  0 },
	{ "ring-size", 'm', "BYTES", 0,
	  "Size of each CPU's ring buffer (default: one second of samples, 4 to 32 MiB, or more "
	  "with fewer than 8 CPUs; suffix K or M)",
	  0 },
	{ "buffer-size", 0, NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, 0 },
	{ "compression-level", 'z', "LEVEL", OPTION_ARG_OPTIONAL,
	  "Compress the stream by zstd, at a LEVEL from 1 (fast, the default) to 19; all stages read it",
	  0 },
	{ 0 },
};

/* Parses a number, followed by nothing except one of `units`, which are "K" and "M" at most. */
static bool parse_real(const char *text, double least, double most, const char *units, double *ret)
{
	char *end;

	*ret = strtod(text, &end);
	if (end == text)
		return false;
	if (*end && strchr(units, *end)) {
		*ret *= *end == 'K' ? 1024 : 1024 * 1024;
		end++;
	}
	return !*end && *ret >= least && *ret <= most;
}

static bool parse_number(const char *text, double least, double most, const char *units,
			 double *ret)
{
	return parse_real(text, least, most, units, ret) && *ret == (uint64_t)*ret;
}

static bool has_pid(const struct perf_source_options *options, pid_t pid)
{
	for (size_t i = 0; i < options->n_pids; i++)
		if (options->pids[i] == pid)
			return true;
	return false;
}

static bool parse_pids(char *text, struct perf_source_options *options)
{
	char *item;

	while ((item = strsep(&text, ","))) {
		double pid;

		if (options->n_pids == PIDS_MAX || !parse_number(item, 1, INT32_MAX, "", &pid))
			return false;
		if (GROWING_LIST_MAKE_ROOM(options->pids, options->n_pids) < 0)
			return false;
		if (!has_pid(options, pid)) /* recorded once, however often it is named */
			options->pids[options->n_pids++] = pid;
	}
	return true;
}

/* Why an event was not found, to be printed after its name. */
static const char *why_not_found(const char *event, int error)
{
	if (sampled_event_is_uprobe(event))
		switch (error) {
		case -EINVAL:
			return ": write uprobe:FILE:SYMBOL";
		case -ESRCH:
			return ": the file's symbol tables define no such function";
		case -ENOEXEC:
			return ": the file is not a readable ELF file";
		default:
			return ": the file does not exist or is not readable";
		}
	if (!strchr(event, ':'))
		return "";
	return error == -EACCES ? ": only root can read tracefs (/sys/kernel/tracing)"
				: ": no such tracepoint, or tracefs is not mounted at "
				  "/sys/kernel/tracing";
}

static void add_event(struct perf_source_options *options, const char *text,
		      struct argp_state *state)
{
	struct sampled_event event;
	int r;

	if (options->n_events == SAMPLED_EVENTS_MAX)
		stage_usage_error(state, "at most %d events can be sampled together",
				  SAMPLED_EVENTS_MAX);
	r = sampled_event_find(text, &event);
	if (r < 0)
		stage_usage_error(state, "unknown event '%s'%s", text, why_not_found(text, r));
	for (size_t i = 0; i < options->n_events; i++)
		if (!strcmp(options->events[i].name, event.name))
			stage_usage_error(state,
					  "two events have the name '%s': remove one of them",
					  event.name);
	options->events[options->n_events++] = event;
}

/* A file's name may contain commas, so an option that begins with a uprobe has no other event. */
static void parse_events(struct perf_source_options *options, char *text, struct argp_state *state)
{
	char *item;

	options->first_of_last = options->n_events;
	if (sampled_event_is_uprobe(text)) {
		add_event(options, text, state);
		return;
	}
	while ((item = strsep(&text, ",")))
		add_event(options, item, state);
}

static void check_filter(const char *text, struct argp_state *state)
{
	struct sample_filter filter;
	const char *at;

	switch (sample_filter_parse(text, &filter, &at)) {
	case 0:
		return;
	case -E2BIG:
		stage_usage_error(state, "--filter takes at most %d terms", SAMPLE_TERMS_MAX);
	case -ENOENT:
		stage_usage_error(state, "--filter: no such control group (cgroup v2): '%s'", at);
	default:
		stage_usage_error(
			state,
			"--filter takes terms like 'pid==1' or 'comm!=cc1', joined by ',' "
			"(and) or '||' (or), not '%s'",
			at);
	}
}

static void set_filter(struct perf_source_options *options, const char *text,
		       struct argp_state *state)
{
	if (!options->n_events) {
		check_filter(text, state);
		options->default_filter = text;
	}
	for (size_t i = options->first_of_last; i < options->n_events; i++) {
		if (!sampled_event_is_tracepoint(&options->events[i]))
			check_filter(text, state);
		options->events[i].filter = text;
	}
}

static bool has_filter(const struct perf_source_options *options)
{
	for (size_t i = 0; i < options->n_events; i++)
		if (options->events[i].filter)
			return true;
	return options->default_filter;
}

static error_t check(struct perf_source_options *options, struct argp_state *state)
{
	if (!options->command && !strcmp(state->argv[state->argc - 1], "--"))
		stage_usage_error(state, "'--' needs a command after it");
	if (options->all && options->n_pids)
		stage_usage_error(state, "-a and -p are mutually exclusive");
	if (options->count && options->has_rate)
		stage_usage_error(state, "-c and -F are mutually exclusive");
	if (options->default_filter && options->n_events)
		stage_usage_error(state, "--filter must come after the -e that it applies to");
	if (has_filter(options) && options->has_waits)
		stage_usage_error(state, "--filter and --off-cpu are mutually exclusive: waits are "
					 "recorded for all threads");
	options->all |= !options->n_pids && !options->command;
	return 0;
}

static enum unwind_mode parse_unwind_mode(const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
		[UNWIND_MODE_AUTO] = "auto",
		[UNWIND_MODE_KERNEL] = "kernel",
		[UNWIND_MODE_COPY] = "copy",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(arg, names[i]))
			return i;
	stage_usage_error(state, "--unwind takes kernel, copy or auto, not '%s'", arg);
}

/* Options that say how often, how much and how long. */
static error_t parse_amount(int key, const char *arg, struct argp_state *state,
			    struct perf_source_options *options)
{
	double number;

	switch (key) {
	case 'F':
		if (!parse_number(arg, 1, 1e6, "", &number))
			stage_usage_error(
				state,
				"-F takes a rate from 1 to 1000000 Hz (rates above 20000 are lowered), not "
				"'%s'",
				arg);
		options->rate = number;
		options->has_rate = true;
		return 0;
	case 'c':
		if (!parse_number(arg, 1, COUNT_MAX, "", &number))
			stage_usage_error(state, "-c takes a number of occurrences, not '%s'", arg);
		options->count = number;
		return 0;
	case 's':
		if (!parse_number(arg, 8, PERF_RECORD_STACK_MAX, "K", &number) ||
		    (uint64_t)number % 8)
			stage_usage_error(state,
					  "-s takes a multiple of 8 bytes, at most %d, not '%s'",
					  PERF_RECORD_STACK_MAX, arg);
		options->stack_size = number;
		return 0;
	case KEY_STACK_LIMIT:
		if (!parse_number(arg, 0, STACK_LIMIT_MAX, "KM", &number))
			stage_usage_error(
				state,
				"--stack-limit takes a number of bytes, at most 64M, not '%s'",
				arg);
		options->stack_limit = number;
		return 0;
	case KEY_NO_CONTEXTS:
		options->no_contexts = true;
		return 0;
	case KEY_INTERPRETERS:
		options->needs_interpreters = true;
		return 0;
	case KEY_NO_INTERPRETERS:
		options->no_interpreters = true;
		return 0;
	case KEY_UNWIND:
		options->unwind = parse_unwind_mode(arg, state);
		return 0;
	case KEY_JUDGE:
		if (!parse_number(arg, 0, UINT32_MAX, "", &number))
			stage_usage_error(state, "--judge takes a number of stacks, not '%s'", arg);
		options->judged_every = number;
		return 0;
	case KEY_NO_CACHE:
		options->no_cache = true;
		return 0;
	case 'd':
		if (!parse_real(arg, 1e-3, 1e9, "", &number))
			stage_usage_error(state,
					  "-d takes a number of seconds, at least 0.001, not '%s'",
					  arg);
		options->duration = number * NANOSECONDS_A_SECOND;
		return 0;
	case 'm':
		if (!parse_number(arg, 4096, 1UL << 31, "KM", &number))
			stage_usage_error(state, "-m takes a size from 4K to 2048M, not '%s'", arg);
		options->ring_bytes = number;
		return 0;
	case 'z':
		if (arg && !parse_number(arg, 1, ZSTD_OUTPUT_LEVEL_MAX, "", &number))
			stage_usage_error(state, "-z takes a level from 1 to %d, not '%s'",
					  ZSTD_OUTPUT_LEVEL_MAX, arg);
		options->compression_level = arg ? number : DEFAULT_LEVEL;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct perf_source *self = state->input;
	struct perf_source_options *options = &self->options;
	double number;

	switch (key) {
	case 'a':
		options->all = true;
		return 0;
	case 'p':
		if (!parse_pids(arg, options))
			stage_usage_error(state, "-p takes process IDs separated by ',', not '%s'",
					  arg);
		return 0;
	case 'e':
		parse_events(options, arg, state);
		return 0;
	case KEY_FILTER:
		set_filter(options, arg, state);
		return 0;
	case KEY_OFF_CPU:
		if (arg && !parse_number(arg, 1, WAIT_THRESHOLD_MAX_NS / 1000, "", &number))
			stage_usage_error(state, "--off-cpu takes 1 to %d microseconds, not '%s'",
					  WAIT_THRESHOLD_MAX_NS / 1000, arg);
		options->has_waits = true;
		if (arg)
			options->least_wait = number * 1000;
		return 0;
	case KEY_COUNTERS:
		if (arg && !parse_number(arg, 10, 60000, "", &number))
			stage_usage_error(
				state, "--counters takes 10 to 60000 milliseconds, not '%s'", arg);
		options->counter_interval =
			(arg ? number : DEFAULT_COUNTERS_MS) * NANOSECONDS_A_MILLISECOND;
		return 0;
	case KEY_SCHEDULER:
		options->has_scheduler = true;
		return 0;
	case KEY_MARKS:
		options->marks_path = arg;
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		return check(options, state);
	default:
		return parse_amount(key, arg, state, options);
	}
}

static void init(void *data)
{
	struct perf_source *self = data;

	self->options.rate = DEFAULT_RATE;
	self->options.stack_limit = STACK_LIMIT_UNSET;
	self->options.judged_every = DEFAULT_JUDGED;
	self->command.pid_fd = self->command.start_fd = self->command.failed_fd = -1;
	self->images.server_fd = self->gauges.thread.stop_fd = -1;
	self->gauges.oldest = UINT64_MAX;
	marks_init(&self->marks);
}

int main(int argc, char **argv)
{
	static const struct stage_program program = {
		.name = "perf-source",
		.arguments = "[-- COMMAND ARG…]",
		.summary = "Samples running programs, with their registers and stacks.",
		.role = STAGE_SOURCE,
		.self_size = sizeof(struct perf_source),
		.options = option_table,
		.parse_option = parse_option,
		.init = init,
		.start = perf_source_start,
		.run = perf_source_run,
		.close = perf_source_close,
		.deinit = perf_source_deinit,
	};

	return stage_main(argc, argv, &program);
}
