/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "symbolizer/debuginfod/debuginfod-download.h"
#include "symbolizer/debuginfod/debuginfod-message.h"
#include "symbolizer/debuginfod/debuginfod-process.h"

enum {
	STAGE_FD = 3,		 /* the process's end of the socket */
	CANCEL_SIGNAL = SIGUSR1, /* not sent by terminals or service managers */
	OUTCOME_STATUS = 64,	 /* + the outcome: a child's own exit status */
};

struct running {
	pid_t pid;
	int pid_fd;
	uint32_t number; /* of the request */
	uint64_t deadline;
	bool is_killed; /* and answered */
};

struct downloader {
	struct debuginfod_library library;
	struct debuginfod_limits limits;
	struct running running[DEBUGINFOD_PARALLEL_MAX];
	size_t n;
	bool is_over; /* the stage has exited or closed the socket */
};

static uint64_t seconds_from_now(unsigned int seconds)
{
	return clock_now(CLOCK_MONOTONIC) + seconds * NANOSECONDS_A_SECOND;
}

/* Never waits for the stage: the socket always has room for all answers to its requests. */
static void answer(uint32_t number, uint32_t outcome)
{
	struct debuginfod_answer message = { number, outcome };

	send(STAGE_FD, &message, sizeof(message), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Runs in a child, which must not outlive the process or keep its socket open. */
static void run_download(const struct downloader *process, const struct debuginfod_request *request,
			 pid_t parent)
{
	syscall(SYS_close_range, STAGE_FD, ~0U, 0);
	debuginfod_download_cancel_by(CANCEL_SIGNAL);
	prctl(PR_SET_PDEATHSIG, CANCEL_SIGNAL);
	if (getppid() != parent)
		_exit(OUTCOME_STATUS + DEBUGINFOD_FAILED);
	_exit(OUTCOME_STATUS + debuginfod_download(&process->library, &process->limits,
						   request->build_id, request->size));
}

/* 0 or -errno. */
static int start_download(struct downloader *process, const struct debuginfod_request *request)
{
	struct running child = { .number = request->number };
	pid_t parent = getpid();
	int error;

	assert(process->n < DEBUGINFOD_PARALLEL_MAX);
	child.pid = fork();
	if (child.pid < 0)
		return -errno;
	if (child.pid == 0)
		run_download(process, request, parent);
	child.pid_fd = syscall(SYS_pidfd_open, child.pid, 0);
	if (child.pid_fd < 0) {
		error = -errno;
		kill(child.pid, SIGKILL);
		waitpid(child.pid, NULL, 0);
		return error;
	}
	child.deadline = seconds_from_now(process->limits.time_s + DEBUGINFOD_GRACE_S);
	process->running[process->n++] = child;
	return 0;
}

/* Stops all children, in an orderly way if possible. */
static void cancel(struct downloader *process)
{
	process->is_over = true;
	for (size_t i = 0; i < process->n; i++) {
		kill(process->running[i].pid, CANCEL_SIGNAL);
		process->running[i].deadline = seconds_from_now(DEBUGINFOD_GRACE_S);
	}
}

static void take_request(struct downloader *process)
{
	struct debuginfod_request request;
	ssize_t size = recv(STAGE_FD, &request, sizeof(request), MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size != sizeof(request) || request.size == 0 || request.size > WIRE_BUILD_ID_MAX)
		cancel(process);
	else if (start_download(process, &request) < 0)
		answer(request.number, DEBUGINFOD_FAILED);
}

static enum debuginfod_outcome outcome_of(int status)
{
	int outcome = WIFEXITED(status) ? WEXITSTATUS(status) - OUTCOME_STATUS : 0;

	return outcome > 0 && outcome < N_DEBUGINFOD_OUTCOMES ? outcome : DEBUGINFOD_FAILED;
}

static void finish(struct downloader *process, struct running *child)
{
	int status = 0;

	waitpid(child->pid, &status, 0);
	close(child->pid_fd);
	if (!child->is_killed)
		answer(child->number, outcome_of(status));
	*child = process->running[--process->n];
}

/* Some file systems make processes unkillable: their files time out, without waiting. */
static void kill_overdue(struct downloader *process)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC);

	for (size_t i = 0; i < process->n; i++) {
		struct running *child = &process->running[i];

		if (child->is_killed || now < child->deadline)
			continue;
		kill(child->pid, SIGKILL);
		child->is_killed = true;
		answer(child->number, DEBUGINFOD_TIMEOUT);
	}
}

/* Milliseconds until the next child is overdue; -1: none can be. */
static int patience(const struct downloader *process)
{
	uint64_t now = clock_now(CLOCK_MONOTONIC), next = UINT64_MAX;

	for (size_t i = 0; i < process->n; i++)
		if (!process->running[i].is_killed && process->running[i].deadline < next)
			next = process->running[i].deadline;
	if (next == UINT64_MAX)
		return -1;
	return next <= now ? 0 : (next - now) / NANOSECONDS_A_MILLISECOND + 1;
}

static bool has_living_children(const struct downloader *process)
{
	for (size_t i = 0; i < process->n; i++)
		if (!process->running[i].is_killed)
			return true;
	return false;
}

/* Requests stay in the socket while all children are busy. */
static void serve(struct downloader *process)
{
	enum { STAGE, RUNNING };
	struct pollfd fds[RUNNING + DEBUGINFOD_PARALLEL_MAX];

	while (!process->is_over || has_living_children(process)) {
		size_t n = process->n;

		fds[STAGE] = (struct pollfd){ process->is_over ? -1 : STAGE_FD,
					      n < DEBUGINFOD_PARALLEL_MAX ? POLLIN : 0, 0 };
		for (size_t i = 0; i < n; i++)
			fds[RUNNING + i] = (struct pollfd){ process->running[i].pid_fd, POLLIN, 0 };
		if (poll(fds, RUNNING + n, patience(process)) < 0)
			continue;
		/* Backwards, because the last child replaces a finished one. */
		for (size_t i = n; i-- > 0;)
			if (fds[RUNNING + i].revents)
				finish(process, &process->running[i]);
		if (fds[STAGE].revents & (POLLHUP | POLLERR))
			cancel(process);
		else if (fds[STAGE].revents)
			take_request(process);
		kill_overdue(process);
	}
}

/*
 * Closes everything of the stage: other programs wait for the end of its output and messages.
 * Terminal signals are left to the stage.
 */
static void leave_parent(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, STAGE_FD + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (high < 0 || null < 0)
		_exit(1);
	prctl(PR_SET_NAME, "debuginfod");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	dup2(high, STAGE_FD);
	syscall(SYS_close_range, STAGE_FD + 1, ~0U, 0);
}

/*
 * Keeps the client's settings (debuginfod-client-config(7)) for servers and cache. The time limit
 * is enforced here, as it must also hold if the client hangs. Retries are off unless set: Debian
 * 12's client would report a full disk as a file that no server has.
 */
static void prepare_environment(const char *urls, const struct debuginfod_limits *limits)
{
	char size[32];

	snprintf(size, sizeof(size), "%ld", limits->size);
	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_MAXSIZE", size, 1);
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	unsetenv("DEBUGINFOD_MAXTIME");
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
}

static void run(const char *urls)
{
	struct downloader process = { .limits = debuginfod_limits_read() };

	prepare_environment(urls, &process.limits);
	if (debuginfod_library_load(&process.library) < 0)
		answer(0, DEBUGINFOD_NO_LIBRARY);
	else
		serve(&process);
	_exit(0);
}

int debuginfod_process_start(const char *urls, pid_t *ret_pid, int *ret_fd)
{
	_cleanup_fd_ int ours = -1, theirs = -1;
	int pair[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		leave_parent(theirs);
		run(urls);
	}
	*ret_pid = pid;
	*ret_fd = take_fd(&ours);
	return 0;
}
