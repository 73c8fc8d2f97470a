/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Downloads from elfutils' own debuginfod on loopback. The argument is the directory where
 * make-debug-files has put a program and its separate debug file.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <elfutils/libdwelf.h>

#include "symbolizer/debuginfod/debuginfod-download.h"
#include "symbolizer/debuginfod/test-debuginfod.h"

enum { SKIPPED = 77, PORTS_TRIED = 10 };

static const char *fixtures; /* directory of the files */
static char served[] = "/tmp/stackpipe-test-XXXXXX";
static struct debuginfod_build_id of_program;
static pid_t server;
static FILE *messages; /* the server's */
static char url[64];

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[16384];
	va_list values;

	va_start(values, format);
	vsnprintf(command, sizeof(command), format, values);
	va_end(values);
	assert_int_equal(system(command), 0);
}

static struct debuginfod_build_id build_id_of(const char *path)
{
	struct debuginfod_build_id id = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *bytes;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_non_null(elf);
	id.size = dwelf_elf_gnu_build_id(elf, &bytes);
	assert_in_range(id.size, 1, sizeof(id.bytes));
	memcpy(id.bytes, bytes, id.size);
	elf_end(elf);
	close(fd);
	return id;
}

/* A port that was free a moment ago. */
static int find_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (void *)&address, size), 0);
	assert_int_equal(getsockname(fd, (void *)&address, &size), 0);
	return ntohs(address.sin_port);
}

static void start_server(const char *port)
{
	int ends_of_pipe[2];

	assert_int_equal(pipe2(ends_of_pipe, O_CLOEXEC), 0);
	server = fork();
	if (server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(ends_of_pipe[1], STDOUT_FILENO);
		dup2(ends_of_pipe[1], STDERR_FILENO);
		unsetenv("DEBUGINFOD_URLS");
		execlp("debuginfod", "debuginfod", "-vvvv", "-F", "-d", ":memory:", "-p", port,
		       served, NULL);
		_exit(127);
	}
	close(ends_of_pipe[1]);
	messages = fdopen(ends_of_pipe[0], "r");
}

static void stop_server(void)
{
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
	fclose(messages);
}

/* Waits until the server has indexed the file; false if the port was taken meanwhile. */
static bool is_server_ready(void)
{
	bool listens = false, knows = false;
	char line[8192];

	while ((!listens || !knows) && fgets(line, sizeof(line), messages)) {
		listens |= strstr(line, "started http server") != NULL;
		knows |= strstr(line, "recorded buildid=") && strstr(line, "full.debug");
	}
	return listens && knows;
}

static int set_up_server(void **state)
{
	char port[16], path[4096];

	strcpy(served + sizeof(served) - 7, "XXXXXX");
	assert_non_null(mkdtemp(served));
	run("cp '%s/full.debug' '%s'", fixtures, served);
	snprintf(path, sizeof(path), "%s/full", fixtures);
	of_program = build_id_of(path);
	for (int i = 0; i < PORTS_TRIED; i++) {
		snprintf(port, sizeof(port), "%d", find_port());
		snprintf(url, sizeof(url), "http://127.0.0.1:%s/", port);
		start_server(port);
		if (is_server_ready())
			return 0;
		stop_server();
	}
	return -1;
}

static int tear_down_server(void **state)
{
	stop_server();
	run("rm -rf '%s'", served);
	return 0;
}

static struct debuginfod_fetcher fetcher;

static int set_up(void **state)
{
	setenv("no_proxy", "*", 1);
	unsetenv("DEBUGINFOD_MAXTIME");
	unsetenv("DEBUGINFOD_MAXSIZE");
	if (make_cache() < 0)
		return -1;
	return debuginfod_fetcher_start(&fetcher, url);
}

static int tear_down(void **state)
{
	pid_t pid = fetcher.pid;

	debuginfod_fetcher_stop(&fetcher);
	waitpid(pid, NULL, 0);
	return remove_cache();
}

static void test_a_debug_file_arrives(void **state)
{
	_cleanup_free_ char *path = debuginfod_cache_file(cache, of_program.bytes, of_program.size);
	struct debuginfod_build_id of_arrived;

	assert_int_equal(fetch(&fetcher, of_program.bytes, of_program.size), DEBUGINFOD_ARRIVED);
	of_arrived = build_id_of(path);
	assert_int_equal(of_arrived.size, of_program.size);
	assert_memory_equal(of_arrived.bytes, of_program.bytes, of_program.size);
	run("cmp '%s' '%s/full.debug'", path, fixtures);
	assert_int_equal(count_cached(), 1);
}

static void test_a_download_is_cached_for_the_next_stage(void **state)
{
	assert_int_equal(fetch(&fetcher, of_program.bytes, of_program.size), DEBUGINFOD_ARRIVED);
	debuginfod_fetcher_stop(&fetcher);
	assert_int_equal(debuginfod_fetcher_start(&fetcher, "http://127.0.0.1:1/"), 0);
	assert_int_equal(fetch(&fetcher, of_program.bytes, of_program.size), DEBUGINFOD_ARRIVED);
}

static void test_an_unknown_build_id_is_not_found(void **state)
{
	struct debuginfod_build_id other = of_program;

	other.bytes[0] ^= 1;
	assert_int_equal(fetch(&fetcher, other.bytes, other.size), DEBUGINFOD_NOT_FOUND);
	assert_int_equal(fetch(&fetcher, of_program.bytes, of_program.size), DEBUGINFOD_ARRIVED);
	assert_true(cached_size(other.bytes, other.size) <= 0);
}

static void test_a_missing_server_does_not_hide_others(void **state)
{
	char urls[128];

	snprintf(urls, sizeof(urls), "http://127.0.0.1:1/ %s", url);
	tear_down(NULL);
	assert_int_equal(make_cache(), 0);
	assert_int_equal(debuginfod_fetcher_start(&fetcher, urls), 0);
	assert_int_equal(fetch(&fetcher, of_program.bytes, of_program.size), DEBUGINFOD_ARRIVED);
}

#define with_fetcher(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static const char *missing(void)
{
	struct debuginfod_library library;

	if (system("command -v debuginfod >/dev/null"))
		return "debuginfod";
	return debuginfod_library_load(&library) < 0 ? "libdebuginfod1" : NULL;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		with_fetcher(test_a_debug_file_arrives),
		with_fetcher(test_a_download_is_cached_for_the_next_stage),
		with_fetcher(test_an_unknown_build_id_is_not_found),
		with_fetcher(test_a_missing_server_does_not_hide_others),
	};
	const char *package = missing();

	if (package) {
		printf("skipped: no debuginfod server can be tried: install %s\n", package);
		return SKIPPED;
	}
	fixtures = argv[1];
	return cmocka_run_group_tests(tests, set_up_server, tear_down_server);
}
