/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/source/command.h"
#include "common/stage/stage.h"

enum {
	NOT_STARTED = 1, /* never started: we failed before */
	SIGNALLED = 128, /* + the signal, as shells report it */
	NOT_FOUND = 127,
	NOT_EXECUTABLE = 126,
};

static void run_child(int start_fd, int failed_fd, char **argv, char **environment, int output_fd)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGALRM, SIGPIPE, SIGXFSZ };
	char go;
	int error;

	/* Ignored signals stay ignored over exec(2), and our handlers must not run in the child. */
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	if (read(start_fd, &go, 1) != 1)
		_exit(NOT_STARTED);
	dup2(output_fd, STDOUT_FILENO);
	for (; environment && *environment; environment++)
		putenv(*environment);
	execvp(argv[0], argv);
	error = errno;
	if (write(failed_fd, &error, sizeof(error)) < 0)
		_exit(NOT_EXECUTABLE);
	_exit(error == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

int command_prepare(struct command *command, char **argv, char **environment, int output_fd)
{
	_cleanup_fd_ int start_read = -1, start_write = -1, failed_read = -1, failed_write = -1;
	int start[2], failed[2];
	pid_t pid;

	if (pipe2(start, O_CLOEXEC) < 0)
		return -errno;
	start_read = start[0];
	start_write = start[1];
	if (pipe2(failed, O_CLOEXEC) < 0)
		return -errno;
	failed_read = failed[0];
	failed_write = failed[1];
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(start_write);
		run_child(start_read, failed_write, argv, environment, output_fd);
	}
	*command = (struct command){
		.pid = pid,
		.pid_fd = syscall(SYS_pidfd_open, pid, 0),
		.start_fd = take_fd(&start_write),
		.failed_fd = take_fd(&failed_read),
	};
	return command->pid_fd < 0 ? -errno : 0;
}

int command_start(struct command *command)
{
	int error;
	ssize_t n;

	do {
		n = write(command->start_fd, "", 1);
	} while (n < 0 && errno == EINTR);
	/* EPIPE: a signal has killed it already, which is its status and no error of ours. */
	if (n < 0 && errno != EPIPE)
		return -errno;
	close(command->start_fd);
	command->start_fd = -1;
	/* A successful exec closes the pipe. */
	do {
		n = read(command->failed_fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(command->failed_fd);
	command->failed_fd = -1;
	return n == sizeof(error) ? -error : 0;
}

static void note_end(struct command *command, int status)
{
	command->ended_as = status;
	command->status = WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
	close(command->pid_fd);
	command->pid_fd = -1;
	command->pid = 0;
}

static void pass_on_request(const struct command *command, bool *is_asked)
{
	if (stage_must_stop())
		kill(command->pid, SIGKILL);
	else if (stage_should_stop() && !*is_asked)
		kill(command->pid, SIGTERM);
	*is_asked = stage_should_stop();
}

void command_reap(struct command *command)
{
	bool is_asked = false;
	int status;

	if (command->pid <= 0)
		return;
	if (command->start_fd >= 0)
		close(command->start_fd);
	if (command->failed_fd >= 0)
		close(command->failed_fd);
	command->start_fd = command->failed_fd = -1;
	pass_on_request(command, &is_asked);
	while (waitpid(command->pid, &status, 0) < 0) {
		if (errno != EINTR)
			return;
		pass_on_request(command, &is_asked);
	}
	note_end(command, status);
}

void command_end(struct command *command, struct stage *stage)
{
	command_reap(command);
	if (stage->exit_status == STAGE_EXIT_OK)
		stage->exit_status = command->status;
}

void command_emit_crash(struct command *command, struct stage *stage, const char *program)
{
	const char *name;
	int status;

	if (command->pid > 0 && waitpid(command->pid, &status, WNOHANG) == command->pid)
		note_end(command, status);
	if (command->pid > 0 || !WIFSIGNALED(command->ended_as) || stage_should_stop())
		return;
	name = sigabbrev_np(WTERMSIG(command->ended_as));
	stage_warn(stage, "'%s' was killed by %s%s%s", program, name ? "SIG" : "a real-time signal",
		   name ? name : "", WCOREDUMP(command->ended_as) ? " (core dumped)" : "");
}
