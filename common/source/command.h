/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command to record: started stopped, so that events are there before its first instruction. */
#pragma once

#include <sys/types.h>

struct stage;

struct command {
	pid_t pid;     /* 0: there is none, or it was reaped */
	int pid_fd;    /* readable once it has ended */
	int start_fd;  /* a byte lets it go */
	int failed_fd; /* gives errno if it could not be executed */
	int ended_as;  /* once it was reaped: as waitpid(2) says it; 0: it is there still */
	int status;    /* then, too: what an exit status of ours can say of it */
};

/*
 * Forks it. Its standard output is `output_fd`, because ours is the stream. `environment` is a list
 * of "NAME=value" that is added to ours, or NULL. 0 or -errno.
 */
int command_prepare(struct command *command, char **argv, char **environment, int output_fd);

/* Lets it go: 0, or -errno of its exec. */
int command_start(struct command *command);

/*
 * Waits for its end, and fills in its status; it ends at once if it has never been started. Who
 * asks us to stop meanwhile asks it, too (SIGTERM), and who insists ends it: nobody else does, be
 * it that nothing of it is recorded any more.
 */
void command_reap(struct command *command);

/* The same, and its status is that of the stage, if that has none of its own. */
void command_end(struct command *command, struct stage *stage);

/*
 * Warns if a signal has ended it by now: that belongs to what happened, unless it was we who were
 * to stop. `program` is what it was called as.
 */
void command_emit_crash(struct command *command, struct stage *stage, const char *program);
