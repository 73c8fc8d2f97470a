/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/source/source-output.h"
#include "common/stage/stage.h"

static void wait_until_read(void)
{
	struct pollfd output = { STDOUT_FILENO, 0, 0 };
	struct stat status;
	int n_left;

	if (fstat(STDOUT_FILENO, &status) < 0 || !S_ISFIFO(status.st_mode))
		return;
	while (!stage_must_stop() && ioctl(STDOUT_FILENO, FIONREAD, &n_left) == 0 && n_left > 0 &&
	       poll(&output, 1, 10) == 0)
		;
}

void source_output_close(void)
{
	wait_until_read();
	close(STDOUT_FILENO);
}
