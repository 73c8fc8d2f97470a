/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stages that a job needs, as processes that are connected by pipes: what a shell would make of
 * the line that pipeline_print() prints. They are in our process group, so that ^C reaches all.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum {
	PIPELINE_STAGES_MAX = 6,
	PIPELINE_ARGUMENTS_MAX = 512, /* of a stage; a command to be run has more */
};

struct pipeline_stage {
	const char **arguments; /* the program's name first; NULL ends them */
	size_t n;
	pid_t pid;
	int status; /* once it was waited for */
};

struct pipeline {
	const char *front;     /* the command that it is of, for what its stages say of options */
	int command_output_fd; /* what is recorded writes to; 0: to standard error */
	struct pipeline_stage stages[PIPELINE_STAGES_MAX];
	size_t n;
};

void pipeline_deinit(struct pipeline *pipeline);

/* One more stage at the end, and its arguments, which are borrowed. 0 or -ENOMEM. */
int pipeline_add(struct pipeline *pipeline, const char *program);
int pipeline_add_argument(struct pipeline *pipeline, const char *argument);

/* The last one of a stage, a file, which is none of its options whatever it is called. */
int pipeline_add_file(struct pipeline *pipeline, const char *path);

/* An argument of any stage, by number. */
int pipeline_add_argument_to(struct pipeline *pipeline, size_t number, const char *argument);

/* A shell's line that does the same. */
void pipeline_print(const struct pipeline *pipeline, FILE *out);

/*
 * Starts all stages, the source once nothing is in the way of the others: what is recorded does not
 * begin to run for nothing. The last one's output is ours, or with `ret_output` a pipe to be read.
 * 0; else an exit status: what is wrong was said, and none of them is left.
 */
int pipeline_start(struct pipeline *pipeline, int *ret_output);

/*
 * Waits for all of them; who was killed is told. An exit status: that of a usage error behind the
 * source, else the source's if it failed, else the last one's that did.
 */
int pipeline_wait(struct pipeline *pipeline);

struct stage_program;

/*
 * Starts all stages, and is the one behind them (without any, of what comes on standard input);
 * waits for them, too. An exit status.
 */
int pipeline_end_with(struct pipeline *pipeline, const struct stage_program *program);

/*
 * Asks the source to stop, as if it had been sent SIGINT or SIGTERM; the others end behind it.
 * Asking again changes nothing.
 */
void pipeline_stop(const struct pipeline *pipeline, int signal);

/*
 * From now on SIGINT and SIGTERM stop the source of this pipeline, which may have been sent them
 * itself. It must not be moved, or be gone before the process.
 */
void pipeline_stop_by_signal(const struct pipeline *pipeline);
