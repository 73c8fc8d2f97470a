/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/wire.h"
#include "stackpipe/input.h"

/* The first bytes of perf's files, and of what perf record -o - writes. */
static const char perf_magic[] = "PERFILE2";

enum { HEAD_SIZE = 16 };

static int add(struct pipeline *pipeline, const char *program, const char *argument)
{
	int r = pipeline_add(pipeline, program);

	if (r == 0 && argument)
		r = pipeline_add_argument(pipeline, argument);
	return r;
}

static int add_quiet(struct pipeline *pipeline, const char *program)
{
	return add(pipeline, program, "-q");
}

int input_add_stages(struct pipeline *pipeline, const char *path, const char *command)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[HEAD_SIZE] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	int error = errno, r;

	if (n < 0 && !(fd >= 0 && error == EISDIR)) {
		fprintf(stderr, "stackpipe %s: error: could not read '%s': %s\n", command, path,
			strerror(error));
		return -error;
	}
	/* A directory is what perf record --threads writes. */
	if (n >= 0 && memcmp(head, perf_magic, strlen(perf_magic)))
		return add(pipeline, "capture-source", path);
	r = add(pipeline, "perfdata-source", path);
	if (r == 0)
		r = add_quiet(pipeline, "live-unwinder");
	return r < 0 ? r : add_quiet(pipeline, "symbolizer");
}
