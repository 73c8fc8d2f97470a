/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stackpipe: one command per common job. Runs the stages; --show-pipeline prints the equivalent. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/stage/stage.h"
#include "stackpipe/commands.h"

static const struct subcommand {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} commands[] = {
	{ "record", command_record, "Record a program, or the whole machine" },
	{ "report", command_report, "Show where the time went" },
	{ "heap", command_heap,
	  "Record the allocations of a program, or show where the memory goes" },
	{ "top", command_top, "Show where time goes, live" },
	{ "diff", command_diff, "Show what changed between two recordings" },
	{ "convert", command_convert, "Convert a capture to another format" },
	{ "doctor", command_doctor, "Check what this machine allows, and how to enable the rest" },
};

enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *out)
{
	fputs("Usage: stackpipe COMMAND [OPTION...]\n"
	      "  or:  stackpipe PROGRAM [ARG...]     (record it)\n\n"
	      "Profiles programs built without frame pointers.\n\n",
	      out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
	fputs("\nSee stackpipe COMMAND --help for the options of a command. The pipeline stages are\n"
	      "separate programs: see stackpipe(7).\n",
	      out);
}

/* Whether execvp(3) would find it, by path or in PATH. */
static bool is_program(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return access(name, X_OK) == 0;
	for (; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		snprintf(path, sizeof(path), "%.*s/%s", (int)(end - at), at, name);
		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* `stackpipe ./a.out` records a program; `stackpipe x.syscap` reports a capture. */
static int run_file(int argc, char **argv)
{
	static const char *const endings[] = { ".syscap", ".data", ".folded" };

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++)
		if (text_has_ending(argv[1], endings[i]) && !access(argv[1], R_OK))
			return command_report(argc, argv);
	if (!is_program(argv[1])) {
		fprintf(stderr,
			"stackpipe: '%s' is neither a command (see --help) nor a program or a capture\n",
			argv[1]);
		return STAGE_EXIT_USAGE;
	}
	return command_record(argc, argv);
}

/* NULL: no such command. */
static const struct subcommand *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct subcommand *command;

	if (argc < 2) {
		print_help(stderr);
		return STAGE_EXIT_USAGE;
	}
	command = argc > 2 && !strcmp(argv[1], "help") ? find_command(argv[2]) : NULL;
	if (command) {
		char *help[] = { argv[2], "--help", NULL };

		return command->run(2, help);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-?") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return STAGE_EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		printf("stackpipe (stackpipe) %s\n", STACKPIPE_VERSION);
		return STAGE_EXIT_OK;
	}
	command = find_command(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		fprintf(stderr, "stackpipe: unknown option '%s' (see --help)\n", argv[1]);
		return STAGE_EXIT_USAGE;
	}
	return run_file(argc, argv);
}
