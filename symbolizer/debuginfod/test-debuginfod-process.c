/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process with a library that misbehaves as a test decides: dlopen() and dlsym() are wrapped
 * (see meson.build).
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "symbolizer/debuginfod/debuginfod-download.h"
#include "symbolizer/debuginfod/debuginfod-process.h"
#include "symbolizer/debuginfod/test-debuginfod.h"

/* What the library does, by the first byte of the build-id. */
enum behaviour {
	ARRIVES,
	IS_MISSING,
	IS_UNREACHABLE,
	HAS_NO_ROOM,
	IS_LARGE,	   /* announces its size */
	IS_LARGE_UNSAID,   /* does not announce its size */
	IS_LARGE_UNFOLDED, /* few bytes arrive, many are written */
	IS_SLOW,	   /* calls its progress function forever */
	HANGS,		   /* never calls its progress function, ignores signals */
	CRASHES,
	EXITS, /* with the status in the second byte */
};

static bool is_installed;
static int (*progress)(struct debuginfod_client *client, long done, long total);

static struct debuginfod_client *fake_begin(void)
{
	static int client;

	return (void *)&client;
}

static void fake_set_progressfn(struct debuginfod_client *client,
				int (*function)(struct debuginfod_client *, long, long))
{
	progress = function;
}

static bool is_environment_right(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *size = getenv("DEBUGINFOD_MAXSIZE");

	return urls && !strncmp(urls, "stackpipe-test-", 15) && size && atol(size) > 0 &&
	       !getenv("DEBUGINFOD_MAXTIME") && !getenv("DEBUGINFOD_PROGRESS") &&
	       !getenv("DEBUGINFOD_VERBOSE");
}

/* Connects to the "server", i.e. the test; the connection lasts as long as this process. */
static void connect_to_test(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *name = getenv("DEBUGINFOD_URLS");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path + 1, name);
	if (connect(fd, (void *)&address,
		    offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)) < 0)
		abort();
}

/* Makes a file in the cache, as the library does for a file that no server has. */
static int make_file(const uint8_t *build_id, size_t size)
{
	char *path = debuginfod_cache_file(cache, build_id, size), *slash = strrchr(path, '/');

	*slash = 0;
	mkdir(path, 0700);
	*slash = '/';
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int unfold(int fd)
{
	char block[1024] = { 1 };

	for (int i = 0; i < 4096; i++)
		if (write(fd, block, sizeof(block)) != sizeof(block))
			return -EIO;
	return fd;
}

static int be_slow(const uint8_t *build_id, size_t size)
{
	connect_to_test();
	for (long i = 0; !progress(fake_begin(), i, 0); i++)
		poll(NULL, 0, 10);
	make_file(build_id, size);
	return -ENOENT;
}

static int fake_find_debuginfo(struct debuginfod_client *client, const unsigned char *build_id,
			       int size, char **ret_path)
{
	switch ((enum behaviour)build_id[0]) {
	case ARRIVES:
		return is_environment_right() ? open("/dev/null", O_RDONLY) : -EIO;
	case IS_MISSING:
		make_file(build_id, size);
		return -ENOENT;
	case IS_UNREACHABLE:
		return -ECONNREFUSED;
	case HAS_NO_ROOM:
		return -EIO;
	case IS_LARGE:
		return progress(client, 1, 2000001) ? -ENOENT : 0;
	case IS_LARGE_UNSAID:
		return progress(client, 2000001, -1) ? -ENOENT : 0;
	case IS_LARGE_UNFOLDED:
		return unfold(make_file(build_id, size));
	case IS_SLOW:
		return be_slow(build_id, size);
	case HANGS:
		connect_to_test();
		for (;;)
			pause();
	case CRASHES:
		abort();
	default:
		_exit(build_id[1]);
	}
}

void *__wrap_dlopen(const char *name, int flags);
void *__wrap_dlsym(void *handle, const char *name);

void *__wrap_dlopen(const char *name, int flags)
{
	return is_installed && !strcmp(name, "libdebuginfod.so.1") ? &is_installed : NULL;
}

void *__wrap_dlsym(void *handle, const char *name)
{
	if (!strcmp(name, "debuginfod_begin"))
		return fake_begin;
	if (!strcmp(name, "debuginfod_find_debuginfo"))
		return fake_find_debuginfo;
	return strcmp(name, "debuginfod_set_progressfn") ? NULL : fake_set_progressfn;
}

static struct debuginfod_fetcher fetcher;
static char server[64]; /* its name; it only accepts connections */
static int listen_fd;

static int listen_here(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(server, sizeof(server), "stackpipe-test-%d", getpid());
	strcpy(address.sun_path + 1, server);
	listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return bind(listen_fd, (void *)&address,
		    offsetof(struct sockaddr_un, sun_path) + 1 + strlen(server))
		       ?: listen(listen_fd, 64);
}

static int set_up(void **state)
{
	is_installed = true;
	setenv("DEBUGINFOD_MAXSIZE", "2000000", 1);
	setenv("DEBUGINFOD_PROGRESS", "1", 1);
	setenv("DEBUGINFOD_VERBOSE", "1", 1);
	unsetenv("DEBUGINFOD_MAXTIME");
	unsetenv("DEBUGINFOD_URLS");
	if (make_cache() < 0 || listen_here() < 0)
		return -1;
	return debuginfod_fetcher_start(&fetcher, server);
}

static int tear_down(void **state)
{
	debuginfod_fetcher_stop(&fetcher);
	close(listen_fd);
	while (waitpid(-1, NULL, 0) > 0) /* it must exit */
		;
	return remove_cache();
}

/* Restarts with another environment or library. */
static void start_again(void)
{
	debuginfod_fetcher_stop(&fetcher);
	assert_int_equal(debuginfod_fetcher_start(&fetcher, server), 0);
}

static void ask(enum behaviour behaviour, uint8_t number)
{
	const uint8_t build_id[2] = { behaviour, number };

	assert_int_equal(debuginfod_fetcher_ask(&fetcher, build_id, sizeof(build_id)), 0);
}

/* The next outcome, which must be for this build-id. */
static int reported_of(enum behaviour behaviour, uint8_t number)
{
	struct debuginfod_build_id id = { 0 };
	int r = await(&fetcher, &id);

	if (r > 0) {
		assert_int_equal(id.size, 2);
		assert_int_equal(id.bytes[0], behaviour);
		assert_int_equal(id.bytes[1], number);
	}
	return r;
}

static int outcome_of(enum behaviour behaviour, uint8_t number)
{
	ask(behaviour, number);
	return reported_of(behaviour, number);
}

/* A child in the middle of its download; its connection closes with it. */
struct downloading {
	int fd;
	pid_t pid;
};

static struct downloading await_download(void)
{
	struct downloading child;
	struct ucred credentials;
	socklen_t size = sizeof(credentials);

	assert_true(is_readable(listen_fd));
	child.fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(child.fd >= 0);
	getsockopt(child.fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size);
	child.pid = credentials.pid;
	return child;
}

static bool has_ended(const struct downloading *child)
{
	return poll(&(struct pollfd){ child->fd, POLLIN, 0 }, 1, 0) == 1;
}

static void await_end(struct downloading *child)
{
	assert_true(is_readable(child->fd));
	close(child->fd);
}

static void test_every_outcome_is_reported(void **state)
{
	static const uint8_t missing[2] = { IS_MISSING };

	assert_int_equal(outcome_of(ARRIVES, 0), DEBUGINFOD_ARRIVED);
	assert_int_equal(outcome_of(IS_MISSING, 0), DEBUGINFOD_NOT_FOUND);
	assert_int_equal(cached_size(missing, 2), 0); /* the library caches the miss for a while */
	assert_int_equal(outcome_of(IS_UNREACHABLE, 0), DEBUGINFOD_UNREACHABLE);
	assert_int_equal(outcome_of(HAS_NO_ROOM, 0), DEBUGINFOD_FAILED);
}

/* Only the process has them in its environment; ours stays unchanged for other libraries. */
static void test_our_environment_has_no_servers(void **state)
{
	assert_int_equal(outcome_of(ARRIVES, 0), DEBUGINFOD_ARRIVED);
	assert_null(getenv("DEBUGINFOD_URLS"));
	assert_string_equal(getenv("DEBUGINFOD_MAXSIZE"), "2000000");
}

static void test_a_missing_library_is_reported(void **state)
{
	is_installed = false;
	start_again();
	ask(ARRIVES, 0);
	assert_int_equal(reported_of(ARRIVES, 0), -ENOPKG);
	assert_int_equal(reported_of(ARRIVES, 0), DEBUGINFOD_FAILED);
}

static void test_a_crash_affects_only_its_file(void **state)
{
	static const uint8_t statuses[] = { 0, 1, 2, 64, 64 + N_DEBUGINFOD_OUTCOMES, 127, 255 };

	assert_int_equal(outcome_of(CRASHES, 0), DEBUGINFOD_FAILED);
	for (size_t i = 0; i < sizeof(statuses); i++)
		assert_int_equal(outcome_of(EXITS, statuses[i]), DEBUGINFOD_FAILED);
	assert_int_equal(outcome_of(ARRIVES, 0), DEBUGINFOD_ARRIVED);
}

static void test_oversized_files_are_not_downloaded(void **state)
{
	static const uint8_t unfolded[2] = { IS_LARGE_UNFOLDED };

	assert_int_equal(outcome_of(IS_LARGE, 0), DEBUGINFOD_TOO_LARGE);
	assert_int_equal(outcome_of(IS_LARGE_UNSAID, 0), DEBUGINFOD_TOO_LARGE);
	assert_int_equal(outcome_of(IS_LARGE_UNFOLDED, 0), DEBUGINFOD_FAILED);
	assert_in_range(cached_size(unfolded, 2), 1, 4000000);
}

static void test_slow_downloads_time_out(void **state)
{
	struct downloading child;

	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	start_again();
	ask(IS_SLOW, 0);
	child = await_download();
	assert_int_equal(reported_of(IS_SLOW, 0), DEBUGINFOD_TIMEOUT);
	await_end(&child);
	assert_int_equal(count_cached(), 0); /* must be tried again next time */
}

static void test_hanging_downloads_are_killed(void **state)
{
	struct downloading child;

	setenv("DEBUGINFOD_MAXTIME", "1", 1);
	start_again();
	ask(HANGS, 0);
	child = await_download();
	assert_int_equal(reported_of(HANGS, 0), DEBUGINFOD_TIMEOUT);
	await_end(&child);
	assert_int_equal(outcome_of(ARRIVES, 0), DEBUGINFOD_ARRIVED);
}

static void test_slow_downloads_do_not_delay_others(void **state)
{
	for (uint8_t i = 0; i < DEBUGINFOD_PARALLEL_MAX - 1; i++)
		ask(IS_SLOW, i);
	for (uint8_t i = 0; i < 10; i++)
		assert_int_equal(outcome_of(ARRIVES, i), DEBUGINFOD_ARRIVED);
}

/* Queued files are downloaded when a child is free. */
static void test_queued_downloads_get_their_turn(void **state)
{
	struct downloading children[DEBUGINFOD_PARALLEL_MAX];

	for (uint8_t i = 0; i < DEBUGINFOD_PARALLEL_MAX; i++) {
		ask(IS_SLOW, i);
		children[i] = await_download();
	}
	ask(ARRIVES, 0);
	kill(children[1].pid, SIGKILL);
	assert_int_equal(reported_of(IS_SLOW, 1), DEBUGINFOD_FAILED);
	assert_int_equal(reported_of(ARRIVES, 0), DEBUGINFOD_ARRIVED);
	for (int i = 0; i < DEBUGINFOD_PARALLEL_MAX; i++)
		close(children[i].fd);
}

static void test_stopping_ends_all_downloads(void **state)
{
	int end = watch(fetcher.pid);
	struct downloading slow, hanging;

	ask(IS_SLOW, 0);
	slow = await_download();
	ask(HANGS, 0);
	hanging = await_download();
	debuginfod_fetcher_stop(&fetcher);
	await_end(&slow);
	await_end(&hanging);
	assert_true(is_readable(end));
	close(end);
	assert_int_equal(count_cached(), 0);
}

/* Queued files are not started any more. */
static void test_stopping_ends_a_full_queue(void **state)
{
	struct downloading children[DEBUGINFOD_PARALLEL_MAX];
	int end = watch(fetcher.pid), status;

	for (uint8_t i = 0; i < DEBUGINFOD_IN_FLIGHT_MAX; i++)
		ask(IS_SLOW, i);
	for (int i = 0; i < DEBUGINFOD_PARALLEL_MAX; i++)
		children[i] = await_download();
	close(fetcher.fd);
	fetcher.fd = -1;
	for (int i = 0; i < DEBUGINFOD_PARALLEL_MAX; i++)
		await_end(&children[i]);
	assert_true(is_readable(end));
	close(end);
	assert_int_equal(waitpid(fetcher.pid, &status, 0), fetcher.pid);
	assert_int_equal(status, 0);
	assert_int_equal(poll(&(struct pollfd){ listen_fd, POLLIN, 0 }, 1, 0), 0);
}

static void test_the_process_exits_without_downloads(void **state)
{
	int end = watch(fetcher.pid);

	debuginfod_fetcher_stop(&fetcher);
	assert_true(is_readable(end));
	close(end);
}

/* Starts a stage of its own, to be killed; returns its pid and its process's. */
static pid_t start_stage(pid_t *ret_process)
{
	_cleanup_fd_ int read_fd = -1, write_fd = -1;
	int ends_of_pipe[2];
	pid_t pid;

	assert_int_equal(pipe2(ends_of_pipe, O_CLOEXEC), 0);
	read_fd = ends_of_pipe[0];
	write_fd = ends_of_pipe[1];
	debuginfod_fetcher_stop(&fetcher);
	pid = fork();
	if (pid == 0) {
		if (debuginfod_fetcher_start(&fetcher, server) < 0)
			_exit(1);
		ask(IS_SLOW, 0);
		if (write(write_fd, &fetcher.pid, sizeof(fetcher.pid)) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	assert_int_equal(read(read_fd, ret_process, sizeof(*ret_process)), sizeof(*ret_process));
	return pid;
}

static void test_killing_the_stage_ends_all_children(void **state)
{
	struct downloading child;
	pid_t process, stage = start_stage(&process);
	int end = watch(process);

	child = await_download();
	kill(stage, SIGKILL);
	await_end(&child);
	assert_true(is_readable(end));
	close(end);
	assert_int_equal(waitpid(stage, NULL, 0), stage);
}

static void test_killing_the_process_ends_all_children(void **state)
{
	struct downloading child;

	ask(IS_SLOW, 0);
	child = await_download();
	kill(fetcher.pid, SIGKILL);
	assert_int_equal(reported_of(IS_SLOW, 0), -EPIPE);
	assert_int_equal(reported_of(IS_SLOW, 0), DEBUGINFOD_FAILED);
	await_end(&child);
}

static void test_terminal_signals_are_ignored(void **state)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct downloading child;

	ask(IS_SLOW, 0);
	child = await_download();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		kill(fetcher.pid, signals[i]);
		kill(child.pid, signals[i]);
		assert_int_equal(outcome_of(ARRIVES, i), DEBUGINFOD_ARRIVED);
	}
	assert_false(has_ended(&child));
	close(child.fd);
}

/* Checks that its standard descriptors are /dev/null; returns the number of others. */
static int check_descriptors(pid_t pid)
{
	_cleanup_dir_ DIR *dir = NULL;
	struct stat null, status;
	struct dirent *entry;
	char path[64];
	int n = 0;

	assert_int_equal(stat("/dev/null", &null), 0);
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
		assert_int_equal(stat(path, &status), 0);
		assert_int_equal(status.st_rdev, null.st_rdev);
	}
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	return n - 3;
}

/* Readers wait for end of file on the stage's output and messages. */
static void test_no_inherited_descriptor_is_kept(void **state)
{
	struct downloading child;
	int ends_of_pipe[2];
	char byte;

	assert_int_equal(pipe(ends_of_pipe), 0);
	start_again();
	ask(IS_SLOW, 0);
	child = await_download();
	close(ends_of_pipe[1]);
	assert_int_equal(read(ends_of_pipe[0], &byte, 1), 0);
	close(ends_of_pipe[0]);
	assert_int_equal(outcome_of(ARRIVES, 0), DEBUGINFOD_ARRIVED); /* idle by now */
	assert_int_equal(check_descriptors(child.pid), 1);	      /* its connection */
	assert_int_equal(check_descriptors(fetcher.pid), 2); /* the stage's and the child's */
	close(child.fd);
}

static void test_garbage_ends_the_connection(void **state)
{
	struct debuginfod_request request = { 0 };
	static const char bytes[4096] = { [offsetof(struct debuginfod_request, size)] = 1 };
	static const size_t sizes[] = { 1, sizeof(request) - 1, sizeof(request) + 1, 4096 };
	char byte;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_int_equal(send(fetcher.fd, bytes, sizes[i], 0), sizes[i]);
		assert_int_equal(recv(fetcher.fd, &byte, 1, 0), 0);
		start_again();
	}
	assert_int_equal(send(fetcher.fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(recv(fetcher.fd, &byte, 1, 0), 0);
	start_again();
	request.size = WIRE_BUILD_ID_MAX + 1;
	assert_int_equal(send(fetcher.fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(recv(fetcher.fd, &byte, 1, 0), 0);
}

static void check_limits(const char *time, const char *size, unsigned int time_s, long bytes)
{
	struct debuginfod_limits limits;

	setenv("DEBUGINFOD_MAXTIME", time, 1);
	setenv("DEBUGINFOD_MAXSIZE", size, 1);
	limits = debuginfod_limits_read();
	assert_int_equal(limits.time_s, time_s);
	assert_int_equal(limits.size, bytes);
}

static void test_a_user_may_set_other_limits(void **state)
{
	const long usual = DEBUGINFOD_SIZE_MAX_MIB * 1048576L;

	check_limits("5", "12345", 5, 12345);
	check_limits("600", "99999999999", 600, 99999999999);
	check_limits("", "", DEBUGINFOD_TIME_MAX_S, usual);
	check_limits("0", "0", DEBUGINFOD_TIME_MAX_S, usual); /* the library takes 0 as no limit */
	check_limits("-1", "-1", DEBUGINFOD_TIME_MAX_S, usual);
	check_limits("5x", "5 MB", DEBUGINFOD_TIME_MAX_S, usual);
	check_limits("99999999999999999999", "99999999999999999999", 86400, INT64_MAX);
	unsetenv("DEBUGINFOD_MAXTIME");
	unsetenv("DEBUGINFOD_MAXSIZE");
	assert_int_equal(debuginfod_limits_read().time_s, DEBUGINFOD_TIME_MAX_S);
	assert_int_equal(debuginfod_limits_read().size, usual);
}

#define with_process(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_process(test_every_outcome_is_reported),
		with_process(test_our_environment_has_no_servers),
		with_process(test_a_missing_library_is_reported),
		with_process(test_a_crash_affects_only_its_file),
		with_process(test_oversized_files_are_not_downloaded),
		with_process(test_slow_downloads_time_out),
		with_process(test_hanging_downloads_are_killed),
		with_process(test_slow_downloads_do_not_delay_others),
		with_process(test_queued_downloads_get_their_turn),
		with_process(test_stopping_ends_all_downloads),
		with_process(test_stopping_ends_a_full_queue),
		with_process(test_the_process_exits_without_downloads),
		with_process(test_killing_the_stage_ends_all_children),
		with_process(test_killing_the_process_ends_all_children),
		with_process(test_terminal_signals_are_ignored),
		with_process(test_no_inherited_descriptor_is_kept),
		with_process(test_garbage_ends_the_connection),
		cmocka_unit_test(test_a_user_may_set_other_limits),
	};

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	return cmocka_run_group_tests(tests, NULL, NULL);
}
