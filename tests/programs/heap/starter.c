/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Starts a program in one of several ways, and exits with its status:
 *
 *     heap-starter WAY PROGRAM [ARG...]
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 7001, FAILED = 99 };

extern char **environ;

static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static pid_t spawn(char **command)
{
	pid_t pid;

	return posix_spawn(&pid, command[0], NULL, NULL, command, environ) ? -1 : pid;
}

static pid_t spawn_by_path(char **command)
{
	pid_t pid;

	return posix_spawnp(&pid, command[0], NULL, NULL, command, environ) ? -1 : pid;
}

static pid_t start_vforked(char **command)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execv(command[0], command);
		_exit(FAILED);
	}
	return pid;
}

static void execute_by_path(char **command)
{
	execvp(command[0], command);
}

static void execute_list(char **command)
{
	execl(command[0], command[0], command[1], (char *)NULL);
}

static void execute_by_descriptor(char **command)
{
	int fd = open(command[0], O_RDONLY | O_CLOEXEC);

	fexecve(fd, command, environ);
}

/* Executes a file without a name. */
static void execute_from_memory(char **command)
{
	int fd = open(command[0], O_RDONLY | O_CLOEXEC), copy = memfd_create("x", MFD_CLOEXEC);
	struct stat status;

	if (fstat(fd, &status) == 0 && sendfile(copy, fd, NULL, status.st_size) == status.st_size)
		fexecve(copy, command, environ);
}

static void execute_by_system_call(char **command)
{
	syscall(SYS_execve, command[0], command, environ);
}

/* Executes under a filter that kills socket(2), which is needed to connect to a recorder. */
static void execute_filtered(char **command)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(steps) / sizeof(*steps), steps };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0)
		execv(command[0], command);
}

static const struct {
	const char *name;
	pid_t (*start)(char **command);
	void (*execute)(char **command); /* in a forked child */
} ways[] = {
	{ "spawn", spawn, NULL },
	{ "spawn-by-path", spawn_by_path, NULL },
	{ "vfork", start_vforked, NULL },
	{ "by-path", NULL, execute_by_path },
	{ "list", NULL, execute_list },
	{ "by-descriptor", NULL, execute_by_descriptor },
	{ "from-memory", NULL, execute_from_memory },
	{ "system-call", NULL, execute_by_system_call },
	{ "filtered", NULL, execute_filtered },
};

static pid_t start(const char *way, char **command)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		pid_t pid;

		if (strcmp(way, ways[i].name))
			continue;
		if (ways[i].start)
			return ways[i].start(command);
		pid = fork();
		if (pid == 0) {
			ways[i].execute(command);
			_exit(FAILED);
		}
		return pid;
	}
	return -1;
}

int main(int argc, char **argv)
{
	void *volatile block = malloc(SIZE);
	int status = argc > 2 ? wait_for(start(argv[1], argv + 2)) : FAILED;

	free(block);
	return status;
}
