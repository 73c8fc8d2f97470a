/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a job's stages as processes connected by pipes, as a shell would run the line that
 * pipeline_print() prints. They share our process group, so ^C reaches all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum {
	PIPELINE_STAGES_MAX = 6,
};

struct pipeline_stage {
	const char **arguments; /* program name first, NULL-terminated */
	size_t n;
	pid_t pid;
	int status; /* exit status, set by pipeline_wait() */
};

struct pipeline {
	const char *front;     /* the user's command, for stages' messages about options */
	int command_output_fd; /* stdout of the recorded command; 0: standard error */
	struct pipeline_stage stages[PIPELINE_STAGES_MAX];
	size_t n;
};

void pipeline_deinit(struct pipeline *pipeline);

/* Appends a stage, or an argument to the last stage. Strings are borrowed. 0 or -ENOMEM. */
int pipeline_add(struct pipeline *pipeline, const char *program);
int pipeline_add_argument(struct pipeline *pipeline, const char *argument);

/* Appends a file as the last stage's last argument, never parsed as an option. */
int pipeline_add_file(struct pipeline *pipeline, const char *path);

/* Appends an argument to stage `number`. */
int pipeline_add_argument_to(struct pipeline *pipeline, size_t number, const char *argument);

/* Prints the equivalent shell command line. */
void pipeline_print(const struct pipeline *pipeline, FILE *out);

/*
 * Starts all stages, the source once all others are ready, so that no command runs in vain. The
 * last stage inherits our standard output, or writes to the pipe returned in `ret_output`. 0, or an
 * exit status: the error was reported and no stage is left running.
 */
int pipeline_start(struct pipeline *pipeline, int *ret_output);

/*
 * Waits for all stages; reports those killed by a signal. Returns the usage error of a stage behind
 * the source, else the source's exit status if it failed, else that of the last failed stage.
 */
int pipeline_wait(struct pipeline *pipeline);

struct stage_program;

/*
 * Starts all stages, runs `program` in this process as the last one, and waits for the others.
 * Without stages, `program` reads standard input. Returns an exit status.
 */
int pipeline_end_with(struct pipeline *pipeline, const struct stage_program *program);

/* Stops the source as SIGINT or SIGTERM would; later stages then end. May be repeated. */
void pipeline_stop(const struct pipeline *pipeline, int signal);

/*
 * From now on SIGINT and SIGTERM stop this pipeline's source, even if it also received them itself.
 * `pipeline` must not move, nor be freed before the process exits.
 */
void pipeline_stop_by_signal(const struct pipeline *pipeline);
