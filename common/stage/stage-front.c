/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stage's link to the `stackpipe` command that started it. That command reports errors for the
 * whole pipeline, and starts the source once the other stages are ready.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/stage/stage-internal.h"

/* Takes a descriptor from the environment; -1: there is none. */
static int take_fd_of(const char *name)
{
	const char *text = getenv(name);
	int fd = text ? atoi(text) : -1;

	/* Stages of a recorded program must not use it. */
	unsetenv(name);
	return fd > STDERR_FILENO && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

void stage_find_front(struct stage *stage)
{
	stage->front = getenv(STAGE_FRONT);
	unsetenv(STAGE_FRONT);
	stage->ready_fd = take_fd_of(STAGE_READY_FD);
	stage->command_output_fd = take_fd_of(STAGE_COMMAND_OUTPUT_FD);
	if (stage->command_output_fd < 0)
		stage->command_output_fd = STDERR_FILENO;
}

void stage_report_ready(struct stage *stage)
{
	if (stage->ready_fd < 0)
		return;
	while (write(stage->ready_fd, "r", 1) < 0 && errno == EINTR)
		;
	close(stage->ready_fd);
	stage->ready_fd = -1;
}
