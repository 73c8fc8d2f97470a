/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/growing-list.h"
#include "common/stage/stage.h"
#include "stackpipe/pipeline.h"

enum { SIGNALLED = 128 }; /* a shell's exit status: 128 plus the signal number */

static const struct pipeline *stopped_by_signal;
static volatile sig_atomic_t is_stopped; /* signal number; 0: not stopped */

void pipeline_deinit(struct pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->n; i++)
		free(pipeline->stages[i].arguments);
	*pipeline = (struct pipeline){ 0 };
}

int pipeline_add_argument_to(struct pipeline *pipeline, size_t number, const char *argument)
{
	struct pipeline_stage *stage = &pipeline->stages[number];

	if (GROWING_LIST_RESIZE(stage->arguments, stage->n + 2) < 0)
		return -ENOMEM;
	stage->arguments[stage->n++] = argument;
	stage->arguments[stage->n] = NULL;
	return 0;
}

int pipeline_add_argument(struct pipeline *pipeline, const char *argument)
{
	return pipeline_add_argument_to(pipeline, pipeline->n - 1, argument);
}

int pipeline_add_file(struct pipeline *pipeline, const char *path)
{
	int r = path[0] == '-' && path[1] ? pipeline_add_argument(pipeline, "--") : 0;

	return r < 0 ? r : pipeline_add_argument(pipeline, path);
}

int pipeline_add(struct pipeline *pipeline, const char *program)
{
	pipeline->stages[pipeline->n++] = (struct pipeline_stage){ .pid = -1 };
	return pipeline_add_argument(pipeline, program);
}

/* Quotes a word for the shell. */
static void print_word(const char *word, FILE *out)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_";

	if (*word && word[strspn(word, plain)] == 0) {
		fputs(word, out);
		return;
	}
	putc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			putc(*word, out);
	}
	putc('\'', out);
}

void pipeline_print(const struct pipeline *pipeline, FILE *out)
{
	for (size_t i = 0; i < pipeline->n; i++) {
		fputs(i ? " | " : "", out);
		for (size_t k = 0; k < pipeline->stages[i].n; k++) {
			fputs(k ? " " : "", out);
			print_word(pipeline->stages[i].arguments[k], out);
		}
	}
	putc('\n', out);
}

/* Looks beside our own program (installed) and in a sibling directory (build tree). */
static int find_program(const char *name, char ret[PATH_MAX])
{
	static const char *const places[] = { "%1$s/%2$s", "%1$s/../%2$s/%2$s" };
	char self[PATH_MAX] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *directory = n > 0 ? dirname(self) : "/nonexistent";

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (snprintf(ret, PATH_MAX, places[i], directory, name) >= PATH_MAX)
			continue;
		if (!access(ret, X_OK))
			return 0;
		if (errno == EACCES) {
			fprintf(stderr,
				"stackpipe: error: no permission to run '%s': ask to be added to its "
				"group (ls -l), see stackpipe-doctor(1)\n",
				ret);
			return -EACCES;
		}
	}
	fprintf(stderr,
		"stackpipe: error: program '%s' not found in %s: install all of stackpipe\n", name,
		directory);
	return -ENOENT;
}

struct pipe_ends {
	int read_fd, write_fd; /* -1: none */
};

/* Pipes used during start: the one behind each stage, and the readiness pipe. */
struct connections {
	struct pipe_ends behind[PIPELINE_STAGES_MAX], ready;
};

static void close_ends(struct pipe_ends *ends)
{
	if (ends->read_fd >= 0)
		close(ends->read_fd);
	if (ends->write_fd >= 0)
		close(ends->write_fd);
	*ends = (struct pipe_ends){ -1, -1 };
}

static void disconnect(struct connections *connections)
{
	for (size_t i = 0; i < PIPELINE_STAGES_MAX; i++)
		close_ends(&connections->behind[i]);
	close_ends(&connections->ready);
}

static int open_ends(struct pipe_ends *ends)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	*ends = (struct pipe_ends){ fds[0], fds[1] };
	return 0;
}

static int connect_stages(struct connections *connections, size_t n)
{
	int r = open_ends(&connections->ready);

	for (size_t i = 0; i < n && r == 0; i++)
		r = open_ends(&connections->behind[i]);
	return r;
}

/* For the stages, which inherit our environment. */
static void name_front(const struct pipeline *pipeline)
{
	setenv(STAGE_FRONT, pipeline->front ? pipeline->front : "stackpipe", 1);
}

static void give_fd(const char *name, int fd)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", fd);
	setenv(name, text, 1);
}

/* Runs in the child; never returns. */
static void run(const char *path, const struct pipeline *pipeline, size_t number,
		const struct connections *connections)
{
	int input = number ? connections->behind[number - 1].read_fd : -1;
	int output = connections->behind[number].write_fd, ready = connections->ready.write_fd;

	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	name_front(pipeline);
	if (ready >= 0)
		give_fd(STAGE_READY_FD, fcntl(ready, F_DUPFD, STDERR_FILENO + 1));
	if (!number && pipeline->command_output_fd)
		give_fd(STAGE_COMMAND_OUTPUT_FD,
			fcntl(pipeline->command_output_fd, F_DUPFD, STDERR_FILENO + 1));
	if ((input >= 0 && dup2(input, STDIN_FILENO) < 0) ||
	    (output >= 0 && dup2(output, STDOUT_FILENO) < 0))
		_exit(STAGE_EXIT_FAILED);
	execv(path, (char **)pipeline->stages[number].arguments);
	fprintf(stderr, "stackpipe: error: could not run '%s': %s\n", path, strerror(errno));
	_exit(STAGE_EXIT_FAILED);
}

static int start(struct pipeline *pipeline, size_t number, const struct connections *connections)
{
	struct pipeline_stage *stage = &pipeline->stages[number];
	char path[PATH_MAX];
	int r = find_program(stage->arguments[0], path);

	if (r < 0)
		return r;
	stage->pid = fork();
	if (stage->pid == 0)
		run(path, pipeline, number, connections);
	return stage->pid < 0 ? -errno : 0;
}

/* Waits for one byte from each of `n` stages; -ECANCELED if one exits without. */
static int wait_until_ready(struct pipe_ends *ready, size_t n)
{
	char said;

	close(take_fd(&ready->write_fd));
	while (n) {
		ssize_t r = read(ready->read_fd, &said, 1);

		if (r == 0 || (r < 0 && errno != EINTR))
			return -ECANCELED;
		n -= r > 0;
	}
	return 0;
}

static int start_all(struct pipeline *pipeline, struct connections *connections)
{
	int r = 0;

	for (size_t i = pipeline->n; i-- > 1 && r == 0;)
		r = start(pipeline, i, connections);
	if (r == 0)
		r = wait_until_ready(&connections->ready, pipeline->n - 1);
	return r < 0 ? r : start(pipeline, 0, connections);
}

int pipeline_start(struct pipeline *pipeline, int *ret_output)
{
	size_t n_pipes = ret_output ? pipeline->n : pipeline->n - 1;
	struct connections connections;
	int r, status;

	memset(&connections, -1, sizeof(connections));
	fflush(NULL); /* or the children would write our buffers, too */
	r = connect_stages(&connections, n_pipes);
	if (r == 0)
		r = start_all(pipeline, &connections);
	if (r == 0 && ret_output)
		*ret_output = take_fd(&connections.behind[pipeline->n - 1].read_fd);
	disconnect(&connections);
	if (r < 0) {
		status = pipeline_wait(pipeline);
		return status ? status : STAGE_EXIT_FAILED;
	}
	if (is_stopped) /* by a signal that arrived before the source was started */
		pipeline_stop(pipeline, is_stopped);
	return 0;
}

static int wait_for(const struct pipeline_stage *stage)
{
	int status;

	while (waitpid(stage->pid, &status, 0) < 0)
		if (errno != EINTR)
			return STAGE_EXIT_FAILED;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	fprintf(stderr, "stackpipe: error: %s was killed by signal %d (%s)\n", stage->arguments[0],
		WTERMSIG(status), strsignal(WTERMSIG(status)));
	return SIGNALLED + WTERMSIG(status);
}

int pipeline_wait(struct pipeline *pipeline)
{
	int first = 0, last = 0, usage = 0;

	for (size_t i = 0; i < pipeline->n; i++) {
		int status = pipeline->stages[i].pid > 0 ? wait_for(&pipeline->stages[i]) : 0;

		pipeline->stages[i].status = status;
		pipeline->stages[i].pid = -1;
		if (i == 0)
			first = status;
		else if (status == STAGE_EXIT_USAGE)
			usage = status;
		else if (status)
			last = status;
	}
	/* A failed source makes the later stages fail, so its status comes first. */
	return usage ? usage : first ? first : last;
}

int pipeline_end_with(struct pipeline *pipeline, const struct stage_program *program)
{
	char *arguments[] = { (char *)program->name, NULL };
	int status, of_stages, fd;

	if (pipeline->n) {
		status = pipeline_start(pipeline, &fd);
		if (status)
			return status;
		if (dup2(fd, STDIN_FILENO) < 0)
			return STAGE_EXIT_FAILED;
		close(fd);
	}
	name_front(pipeline);
	status = stage_main(1, arguments, program);
	/* Lets a stage that still writes get EPIPE; the next pipe must not get descriptor 0. */
	close(STDIN_FILENO);
	open("/dev/null", O_RDONLY);
	of_stages = pipeline_wait(pipeline);
	return status ? status : of_stages;
}

void pipeline_stop(const struct pipeline *pipeline, int signal)
{
	if (pipeline->n && pipeline->stages[0].pid > 0)
		sigqueue(pipeline->stages[0].pid, signal, (union sigval){ 0 });
}

static void on_signal(int signal)
{
	is_stopped = signal;
	pipeline_stop(stopped_by_signal, signal);
}

void pipeline_stop_by_signal(const struct pipeline *pipeline)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	stopped_by_signal = pipeline;
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}
