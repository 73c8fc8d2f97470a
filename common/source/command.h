/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command to record: its exec waits, so that events are set up before its first instruction. */
#pragma once

#include <sys/types.h>

struct stage;

struct command {
	pid_t pid;     /* 0: none, or already reaped */
	int pid_fd;    /* readable once it has ended */
	int start_fd;  /* a byte written to it starts the command */
	int failed_fd; /* returns errno if exec failed */
	int ended_as;  /* as waitpid(2) reports it; 0: exited with 0, or not reaped yet */
	int status;    /* set with ended_as: the exit status that a shell would report */
};

/*
 * Forks it. Its standard output is `output_fd`, because ours is the stream. `environment` is NULL
 * or a list of "NAME=value" that is added to ours. 0 or -errno.
 */
int command_prepare(struct command *command, char **argv, char **environment, int output_fd);

/* Starts it. 0 or -errno of its exec. */
int command_start(struct command *command);

/*
 * Waits for its end and sets its status; a command that was never started ends at once. Passes on
 * requests to stop: SIGTERM for the first, SIGKILL for an insistent one. No one else can end it,
 * even if nothing of it is recorded any more.
 */
void command_reap(struct command *command);

/* The same; its status becomes the stage's, unless that has one already. */
void command_end(struct command *command, struct stage *stage);

/*
 * Warns if a signal has killed it by now, unless we were asked to stop. `program` is the name that
 * it was called by.
 */
void command_emit_crash(struct command *command, struct stage *stage, const char *program);
