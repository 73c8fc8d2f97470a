/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "symbolizer/debuginfod/debuginfod-cache.h"
#include "symbolizer/debuginfod/debuginfod-download.h"

enum {
	DAY_S = 24 * 60 * 60,
	DESCRIPTORS_MAX = 256, /* of the library, from 0: a few, and one for each server */
};

/* The only download of this process, for the library's callback. */
static struct {
	uint64_t deadline;
	long size_max;
	enum debuginfod_outcome stopped_as; /* 0: we did not stop it */
} download;
static volatile sig_atomic_t is_cancelled, is_too_large;

int debuginfod_library_load(struct debuginfod_library *ret)
{
	void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return -ENOPKG;
	ret->begin = dlsym(handle, "debuginfod_begin");
	ret->find_debuginfo = dlsym(handle, "debuginfod_find_debuginfo");
	ret->set_progressfn = dlsym(handle, "debuginfod_set_progressfn");
	return ret->begin && ret->find_debuginfo && ret->set_progressfn ? 0 : -ENOPKG;
}

/* A positive number up to `max` from the environment, else `usual`. */
static long read_limit(const char *name, long max, long usual)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (!text)
		return usual;
	value = strtol(text, &end, 10);
	return *end || value <= 0 ? usual : value < max ? value : max;
}

struct debuginfod_limits debuginfod_limits_read(void)
{
	return (struct debuginfod_limits){
		.time_s = read_limit("DEBUGINFOD_MAXTIME", DAY_S, DEBUGINFOD_TIME_MAX_S),
		.size = read_limit("DEBUGINFOD_MAXSIZE", LONG_MAX,
				   DEBUGINFOD_SIZE_MAX_MIB * 1048576L),
	};
}

static void handle(int signal, void (*handler)(int signal))
{
	struct sigaction action = { .sa_handler = handler };

	sigemptyset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

static bool is_of_the_network(int fd)
{
	int domain;
	socklen_t size = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
	       (domain == AF_INET || domain == AF_INET6);
}

/*
 * Makes connections fail: elfutils 0.192 (Debian 13) calls check_progress() only once an answer has
 * begun, but it cleans up after an error. It must be an error (connect(2) to AF_UNSPEC resets): an
 * answer may end with its connection. Repeated each second: the library may try another server.
 */
static void disconnect(void)
{
	static const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	int error = errno;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++)
		if (is_of_the_network(fd))
			connect(fd, &nobody, sizeof(nobody));
	alarm(1);
	errno = error;
}

static void on_cancel(int signal)
{
	is_cancelled = 1;
	disconnect();
}

static void on_deadline(int signal)
{
	disconnect();
}

static void on_file_limit(int signal)
{
	is_too_large = 1;
}

void debuginfod_download_cancel_by(int signal)
{
	handle(signal, on_cancel);
}

/* Why we stopped the download; 0: we did not. */
static enum debuginfod_outcome stopped_as(void)
{
	if (download.stopped_as)
		return download.stopped_as;
	if (is_too_large)
		return DEBUGINFOD_TOO_LARGE;
	if (is_cancelled)
		return DEBUGINFOD_FAILED;
	return clock_now(CLOCK_MONOTONIC) >= download.deadline ? DEBUGINFOD_TIMEOUT : 0;
}

/*
 * Called by the library at least each second, unless it hangs or (elfutils 0.192) has no answer
 * yet. Nonzero stops it. `done` and `total` count bytes, or other steps before the first byte.
 */
static int check_progress(struct debuginfod_client *client, long done, long total)
{
	download.stopped_as = stopped_as();
	if (!download.stopped_as && (done > download.size_max || total > download.size_max))
		download.stopped_as = DEBUGINFOD_TOO_LARGE;
	return download.stopped_as != 0;
}

/*
 * Removes the empty file that older versions of the library (Debian 12) leave for a stopped
 * download. They take it for "not found", and ask no server for the next ten minutes.
 */
static void forget_miss(const uint8_t *build_id, size_t size)
{
	_cleanup_free_ char *cache = debuginfod_cache_path();
	_cleanup_free_ char *path = cache ? debuginfod_cache_file(cache, build_id, size) : NULL;
	struct stat status;

	if (!path || stat(path, &status) < 0 || status.st_size > 0)
		return;
	unlink(path);
	*strrchr(path, '/') = 0;
	rmdir(path);
}

static enum debuginfod_outcome outcome_of(int error)
{
	switch (error) {
	case -ENOENT:
		return DEBUGINFOD_NOT_FOUND;
	case -EFBIG:
		return DEBUGINFOD_TOO_LARGE;
	case -ETIME:
		return DEBUGINFOD_TIMEOUT;
	case -ECONNREFUSED:
	case -ECONNRESET:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		return DEBUGINFOD_UNREACHABLE;
	default:
		return DEBUGINFOD_FAILED;
	}
}

/*
 * A small answer may decompress to any size and fill the disk, as progress counts bytes received.
 * Twice the limit, so that other large answers are still reported as too large.
 */
static void limit_file_size(long size)
{
	rlim_t most = 2 * (rlim_t)size;
	struct rlimit limit;

	handle(SIGXFSZ, on_file_limit); /* the write fails, too, but is hardly reported */
	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	setrlimit(RLIMIT_FSIZE, &limit);
}

enum debuginfod_outcome debuginfod_download(const struct debuginfod_library *library,
					    const struct debuginfod_limits *limits,
					    const uint8_t *build_id, size_t size)
{
	struct debuginfod_client *client = library->begin();
	int r;

	if (!client)
		return DEBUGINFOD_FAILED;
	download.deadline = clock_now(CLOCK_MONOTONIC) + limits->time_s * NANOSECONDS_A_SECOND;
	download.size_max = limits->size;
	limit_file_size(limits->size);
	library->set_progressfn(client, check_progress);
	handle(SIGALRM, on_deadline);
	alarm(limits->time_s);
	r = library->find_debuginfo(client, build_id, size, NULL);
	if (r >= 0)
		return DEBUGINFOD_ARRIVED;
	download.stopped_as = stopped_as();
	if (!download.stopped_as)
		return outcome_of(r);
	forget_miss(build_id, size);
	return download.stopped_as;
}
