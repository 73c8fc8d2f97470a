/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the real process. They wait for events with very long timeouts. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "symbolizer/debuginfod/debuginfod-cache.h"
#include "symbolizer/debuginfod/debuginfod-fetcher.h"

enum { PATIENCE_MS = 60000 };

static char cache[] = "/tmp/stackpipe-test-XXXXXX";

static inline int make_cache(void)
{
	strcpy(cache + sizeof(cache) - 7, "XXXXXX");
	return mkdtemp(cache) ? setenv("DEBUGINFOD_CACHE_PATH", cache, 1) : -1;
}

static inline int remove_cache(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", cache);
	return system(command);
}

/* The size of a build-id's file in the cache; -1: none. */
static inline off_t cached_size(const void *build_id, size_t size)
{
	_cleanup_free_ char *path = debuginfod_cache_file(cache, build_id, size);
	struct stat status;

	return stat(path, &status) < 0 ? -1 : status.st_size;
}

/* The number of build-id files in the cache, complete or not. */
static inline int count_cached(void)
{
	char command[128];
	int n = -1;
	FILE *out;

	snprintf(command, sizeof(command), "find '%s' -mindepth 2 -type f | wc -l", cache);
	out = popen(command, "r");
	if (!out || fscanf(out, "%d", &n) != 1)
		n = -1;
	if (out)
		pclose(out);
	return n;
}

static inline bool is_readable(int fd)
{
	return poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, PATIENCE_MS) == 1;
}

/* The fetcher's next outcome. */
static inline int await(struct debuginfod_fetcher *fetcher, struct debuginfod_build_id *ret)
{
	int r;

	while ((r = debuginfod_fetcher_poll(fetcher, ret)) == 0)
		assert_true(is_readable(fetcher->fd));
	return r;
}

static inline int fetch(struct debuginfod_fetcher *fetcher, const void *build_id, size_t size)
{
	struct debuginfod_build_id id;
	int r;

	assert_int_equal(debuginfod_fetcher_ask(fetcher, build_id, size), 0);
	r = await(fetcher, &id);
	assert_int_equal(id.size, size);
	assert_memory_equal(id.bytes, build_id, size);
	return r;
}

/* A descriptor that is readable once the process has exited, even if it already has. */
static inline int watch(pid_t pid)
{
	int fd = syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}
