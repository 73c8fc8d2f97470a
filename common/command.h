/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command to record: started stopped, so that events are there before its first instruction. */
#pragma once

#include <sys/types.h>

struct command {
	pid_t pid;     /* 0: there is none, or it was reaped */
	int pid_fd;    /* readable once it has ended */
	int start_fd;  /* a byte lets it go */
	int failed_fd; /* gives errno if it could not be executed */
	int status;    /* once it was reaped: what an exit status of ours can say of it */
};

/*
 * Forks it. Its standard output becomes standard error, because ours is the stream. `environment`
 * is a list of "NAME=value" that is added to ours, or NULL. 0 or -errno.
 */
int command_prepare(struct command *command, char **argv, char **environment);

/* Lets it go: 0, or -errno of its exec. */
int command_start(struct command *command);

/*
 * Waits for its end, and fills in its status; it ends at once if it has never been started. Who
 * asks us to stop meanwhile asks it, too (SIGTERM), and who insists ends it: nobody else does, be
 * it that nothing of it is recorded any more.
 */
void command_reap(struct command *command);
