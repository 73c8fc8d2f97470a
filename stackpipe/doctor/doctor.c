/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stackpipe doctor: what this machine allows. Each check really runs a stage, so that a failure
 * shows the stage's own error message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/arguments.h"
#include "common/stage/stage.h"
#include "stackpipe/commands.h"
#include "stackpipe/doctor/doctor-check.h"
#include "stackpipe/doctor/doctor-sandboxes.h"

enum { WORDS_MAX = 12, LINE_SIZE = 1024 };

struct check {
	const char *what;
	const char *words[WORDS_MAX]; /* command line of the stage */
	bool is_needed;
};

static const struct check checks[] = {
	{ "record programs that you start",
	  { "perf-source", "-e", "cpu-clock", "--", "true", NULL },
	  true },
	{ "record the whole machine",
	  { "perf-source", "-e", "cpu-clock", "-a", "-d", "0.05", NULL },
	  false },
	{ "record functions of scripts (Python, PHP, Perl, Ruby, Lua, Erlang, JavaScript, Java, .NET)",
	  { "perf-source", "-e", "cpu-clock", "--interpreters", "--", "true", NULL },
	  false },
	{ "sample CPU cycles", { "perf-source", "-e", "cycles", "--", "true", NULL }, false },
	{ "drop unwanted samples in the kernel (--filter)",
	  { "perf-source", "-e", "cpu-clock", "--filter", "tid!=0", "--", "true", NULL },
	  false },
	{ "record the waits of the whole machine",
	  { "perf-source", "--off-cpu", "-a", "-d", "0.05", NULL },
	  false },
	{ "sample at 4999 Hz with 64 KiB of stack",
	  { "perf-source", "-e", "cpu-clock", "-F", "4999", "-s", "65528", "--", "sleep", "0.05",
	    NULL },
	  false },
};

enum { N_CHECKS = sizeof(checks) / sizeof(checks[0]) };

static enum doctor_answer check_one(const struct check *check)
{
	_cleanup_(pipeline_deinit) struct pipeline pipeline = { 0 };
	_cleanup_file_ FILE *log = tmpfile();
	enum doctor_answer answer = check->is_needed ? DOCTOR_BROKEN : DOCTOR_NO;

	if (log && doctor_add_stage(&pipeline, check->words) == 0 &&
	    doctor_try(&pipeline, log) == 0)
		answer = DOCTOR_YES;
	doctor_print(answer, check->what, log);
	return answer;
}

static void print_setting(const char *name, const char *path)
{
	_cleanup_file_ FILE *file = fopen(path, "re");
	char line[LINE_SIZE] = "not available\n";

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
	       urls && *urls
		       ? urls
		       : "not set; set it to a server for --debuginfod=on to download debug files");
}

int command_doctor(int argc, char **argv)
{
	static const struct argp argp = {
		NULL, NULL, NULL, "Check what this machine allows, and how to enable the rest."
	};
	/* A busy command to sample. Where that fails, stacks of allocations take its place. */
	static const char *const samples[] = {
		"perf-source", "-q",
		"-e",	       "cpu-clock",
		"-F",	       "4999",
		"--",	       "sh",
		"-c",	       "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done",
		NULL
	};
	static const char *const allocations[] = { "preload-source", "-q", "--sandbox=off", "--",
						   "true",	     NULL };
	enum doctor_answer answers[N_CHECKS];
	enum doctor_answer worst = DOCTOR_YES, answer;

	arguments_parse(&argp, "stackpipe doctor", argc, argv, 0, NULL);
	print_machine();
	for (size_t i = 0; i < N_CHECKS; i++) {
		answers[i] = check_one(&checks[i]);
		worst = answers[i] > worst ? answers[i] : worst;
	}
	answer = doctor_try_sandboxes(answers[0] == DOCTOR_YES ? samples : allocations);
	worst = answer > worst ? answer : worst;
	return worst == DOCTOR_BROKEN ? STAGE_EXIT_FAILED : STAGE_EXIT_OK;
}
