/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stackpipe doctor: what this machine allows. Each thing is really tried, with the stage that does
 * it: what that says of a failure is what a person would read then.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/arguments.h"
#include "common/cleanup.h"
#include "common/stage.h"
#include "stackpipe/commands.h"
#include "stackpipe/pipeline.h"

enum { WORDS_MAX = 12, LINE_SIZE = 1024 };

struct check {
	const char *what;
	const char *words[WORDS_MAX]; /* the stage and its arguments */
	bool is_needed;
};

static const struct check checks[] = {
	{ "record programs that you start",
	  { "perf-source", "-e", "cpu-clock", "--", "true", NULL },
	  true },
	{ "record the whole machine",
	  { "perf-source", "-e", "cpu-clock", "-a", "-d", "0.05", NULL },
	  false },
	{ "sample by cycles of the CPU",
	  { "perf-source", "-e", "cycles", "-a", "-d", "0.05", NULL },
	  false },
	{ "sample 4,999 times a second with 64 KiB of stack",
	  { "perf-source", "-e", "cpu-clock", "-a", "-d", "0.05", "-F", "4999", "-s", "65528",
	    NULL },
	  false },
};

enum { N_CHECKS = sizeof(checks) / sizeof(checks[0]) };

static int add_stage(struct pipeline *pipeline, const struct check *check)
{
	int r = pipeline_add(pipeline, check->words[0]);

	for (size_t i = 1; check->words[i] && r == 0; i++)
		r = pipeline_add_argument(pipeline, check->words[i]);
	return r;
}

/* Runs it with its messages in `log`, and its stream nowhere. An exit status. */
static int try(struct pipeline *pipeline, FILE *log)
{
	_cleanup_fd_ int errors = dup(STDERR_FILENO);
	char bytes[4096];
	int fd, r;

	if (errors < 0 || dup2(fileno(log), STDERR_FILENO) < 0)
		return STAGE_EXIT_FAILED;
	r = pipeline_start(pipeline, &fd);
	dup2(errors, STDERR_FILENO);
	if (r < 0)
		return STAGE_EXIT_FAILED;
	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	close(fd);
	return pipeline_wait(pipeline);
}

/* What the stage has said, without its name. */
static void print_log(FILE *log)
{
	char line[LINE_SIZE];

	rewind(log);
	while (fgets(line, sizeof(line), log)) {
		const char *text = strstr(line, ": ");

		printf("        %s", text ? text + 2 : line);
	}
}

static int check_one(const struct check *check)
{
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { 0 };
	_cleanup_file_ FILE *log = tmpfile();
	int status = STAGE_EXIT_FAILED;

	if (log && add_stage(&pipeline, check) == 0)
		status = try(&pipeline, log);
	printf("%-6s  %s\n", status ? (check->is_needed ? "NO" : "no") : "yes", check->what);
	if (log)
		print_log(log);
	return status && check->is_needed ? STAGE_EXIT_FAILED : STAGE_EXIT_OK;
}

static void print_setting(const char *name, const char *path)
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	char line[LINE_SIZE] = "not there\n";

	if (file && !fgets(line, sizeof(line), file))
		strcpy(line, "empty\n");
	printf("        %s: %s", name, line);
}

static void print_machine(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct utsname name;

	printf("stackpipe %s", STACKPIPE_VERSION);
	if (uname(&name) == 0)
		printf(", Linux %s (%s), user %d", name.release, name.machine, (int)geteuid());
	putchar('\n');
	print_setting("kernel.perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid");
	print_setting("kernel.kptr_restrict", "/proc/sys/kernel/kptr_restrict");
	print_setting("kernel.perf_event_mlock_kb", "/proc/sys/kernel/perf_event_mlock_kb");
	print_setting("kernel.perf_event_max_sample_rate",
		      "/proc/sys/kernel/perf_event_max_sample_rate");
	printf("        DEBUGINFOD_URLS: %s\n",
	       urls && *urls ? urls : "not set; with a server's, --debuginfod=on fetches names");
}

int command_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		NULL, NULL, NULL, "Says what this machine allows, and how to get the rest."
	};
	int status = STAGE_EXIT_OK;

	arguments_parse(&argp, "stackpipe doctor", argc, argv, 0, NULL);
	print_machine();
	for (size_t i = 0; i < N_CHECKS; i++)
		if (check_one(&checks[i]) != STAGE_EXIT_OK)
			status = STAGE_EXIT_FAILED;
	return status;
}
