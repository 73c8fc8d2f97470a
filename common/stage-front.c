/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stage has to do with the command of ours that has started it: that speaks for all of the
 * pipeline, and starts the source only once the others are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/stage-internal.h"

void stage_find_front(struct stage *stage)
{
	const char *fd = getenv(STAGE_READY_FD);

	stage->front = getenv(STAGE_FRONT);
	stage->ready_fd = stage->front && fd ? atoi(fd) : -1;
	if (stage->ready_fd <= STDERR_FILENO || fcntl(stage->ready_fd, F_SETFD, FD_CLOEXEC) < 0)
		stage->ready_fd = -1;
	/* What is recorded may run stages of its own. */
	unsetenv(STAGE_FRONT);
	unsetenv(STAGE_READY_FD);
}

void stage_tell_ready(struct stage *stage)
{
	if (stage->ready_fd < 0)
		return;
	while (write(stage->ready_fd, "r", 1) < 0 && errno == EINTR)
		;
	close(stage->ready_fd);
	stage->ready_fd = -1;
}
