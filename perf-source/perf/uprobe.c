/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/proc/proc.h"
#include "perf-source/perf/tracepoint.h"
#include "perf-source/perf/uprobe.h"

#define GROUP "stackpipe"
#define DEFINITIONS "uprobe_events"

enum { NAME_SIZE = 64, COMMAND_SIZE = 256, LINE_SIZE = 4096 };

/* Part of each name, as a PID means another process in another PID namespace. */
static uint64_t pid_namespace(void)
{
	struct stat status;

	return stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

static void put_name(int pid, uint32_t number, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "p%d_%" PRIu32 "_%" PRIx64, pid, number, pid_namespace());
}

/* Appends one line to the list of definitions. */
static int command(const char *text)
{
	_cleanup_fd_ int fd = tracefs_open(DEFINITIONS, O_WRONLY | O_APPEND | O_CLOEXEC);
	ssize_t size = strlen(text);

	if (fd < 0)
		return fd;
	return write(fd, text, size) == size ? 0 : -errno;
}

static void undefine(int pid, uint32_t number)
{
	char name[NAME_SIZE], text[COMMAND_SIZE];

	put_name(pid, number, name);
	snprintf(text, sizeof(text), "-:" GROUP "/%s\n", name);
	command(text);
}

/* Removes the definitions that killed recorders of this PID namespace left behind. */
static void sweep(void)
{
	_cleanup_fd_ int fd = tracefs_open(DEFINITIONS, O_RDONLY | O_CLOEXEC);
	_cleanup_file_ FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE_SIZE];
	uint64_t namespace;
	uint32_t number;
	int pid;

	if (!file)
		return;
	take_fd(&fd);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "p:" GROUP "/p%d_%" SCNu32 "_%" SCNx64 " ", &pid, &number,
			   &namespace) == 3 &&
		    namespace == pid_namespace() && proc_is_gone(pid))
			undefine(pid, number);
}

/* The path of the descriptor names this very file, whatever its own path contains or leads to. */
int uprobe_define(uint32_t number, int fd, uint64_t offset, uint32_t *ret_tracepoint)
{
	char name[NAME_SIZE], text[COMMAND_SIZE];
	int r;

	sweep();
	undefine(getpid(), number); /* left by an earlier process with our PID */
	put_name(getpid(), number, name);
	snprintf(text, sizeof(text), "p:" GROUP "/%s /proc/self/fd/%d:0x%" PRIx64 "\n", name, fd,
		 offset);
	r = command(text);
	return r < 0 ? r : tracepoint_find(GROUP, name, ret_tracepoint);
}

void uprobe_undefine(uint32_t number)
{
	undefine(getpid(), number);
}
