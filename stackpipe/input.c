/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/wire/wire.h"
#include "stackpipe/input.h"

/* Follows the first record's header in a recorded stream. */
static const char stream_magic[] = "stackpip";

/* Starts perf.data files, and the output of `perf record -o -`. */
static const char perf_magic[] = "PERFILE2";

enum { HEAD_SIZE = sizeof(struct wire_header) + sizeof(struct wire_hello) };

static int add(struct pipeline *pipeline, const char *program, const char *path)
{
	int r = pipeline_add(pipeline, program);

	return r < 0 ? r : pipeline_add_file(pipeline, path);
}

static int add_quiet(struct pipeline *pipeline, const char *program)
{
	int r = pipeline_add(pipeline, program);

	return r < 0 ? r : pipeline_add_argument(pipeline, "-q");
}

static bool is_perf_directory(const char *path)
{
	char data[PATH_MAX];

	snprintf(data, sizeof(data), "%s/data", path);
	return access(data, R_OK) == 0;
}

/* Searches the hello, little larger than its structure, for the stages that the stream passed. */
static bool is_unwound_stream(const char *head, ssize_t size)
{
	return size == HEAD_SIZE &&
	       !memcmp(head + sizeof(struct wire_header), stream_magic, strlen(stream_magic)) &&
	       memmem(head, size, "live-unwinder", strlen("live-unwinder"));
}

int input_add_stages(struct pipeline *pipeline, const char *path, const char *command)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char head[HEAD_SIZE] = "";
	ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));
	int error = n == 0 ? ENODATA : errno, r;

	if (!strcmp(path, "-"))
		return add(pipeline, "capture-source", path);
	if (n <= 0 && !(fd >= 0 && error == EISDIR && is_perf_directory(path))) {
		fprintf(stderr, "stackpipe %s: error: could not read '%s': %s\n", command, path,
			n == 0 ? "the file is empty" : strerror(error));
		return -error;
	}
	if (is_unwound_stream(head, n))
		return lseek(fd, 0, SEEK_SET) < 0 || dup2(fd, STDIN_FILENO) < 0 ? -errno : 0;
	/* A directory (n < 0) is the output of `perf record --threads`. */
	if (n >= 0 && memcmp(head, perf_magic, strlen(perf_magic)))
		return add(pipeline, "capture-source", path);
	r = add(pipeline, "perfdata-source", path);
	if (r == 0)
		r = add_quiet(pipeline, "live-unwinder");
	return r < 0 ? r : add_quiet(pipeline, "symbolizer");
}
