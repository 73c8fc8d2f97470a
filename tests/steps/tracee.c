/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "tests/steps/tracee.h"

enum {
	PAGE = 4096,
	PAGES_MAX = 17, /* of the largest sample of a stack, and one that is cut */
	NOT_FOUND = 127,
	BREAKPOINT = 0xcc,
};

static void run_child(char **argv)
{
	static const int ours[] = { SIGINT, SIGTERM, SIGALRM, SIGBUS, SIGPIPE, SIGXFSZ };
	int null = open("/dev/null", O_RDWR);

	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		signal(ours[i], SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	close(null);
	clearenv();
	setenv("PATH", "/usr/bin:/bin", 1);
	personality(ADDR_NO_RANDOMIZE);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	execvp(argv[0], argv);
	_exit(NOT_FOUND);
}

static int wait_for_stop(pid_t pid, int *ret_status)
{
	if (waitpid(pid, ret_status, __WALL) < 0)
		return -errno;
	return WIFSTOPPED(*ret_status) ? 0 : -ECHILD;
}

int tracee_start(char **argv, pid_t *ret)
{
	const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE;
	pid_t pid = fork();
	int r, status;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		run_child(argv);
	r = wait_for_stop(pid, &status);
	if (r < 0)
		return r;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, options) < 0 ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) < 0)
		return -errno;
	r = wait_for_stop(pid, &status);
	if (r == -ECHILD)
		return -ENOENT;
	*ret = pid;
	return r;
}

/* AT_ENTRY of its auxiliary vector: 0 if there is none. */
static uint64_t find_entry(pid_t pid)
{
	_cleanup_file_ FILE *file = NULL;
	Elf64_auxv_t item;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	file = fopen(path, "re");
	while (file && fread(&item, sizeof(item), 1, file) == 1)
		if (item.a_type == AT_ENTRY)
			return item.a_un.a_val;
	return 0;
}

int tracee_run_to_entry(pid_t pid)
{
	uint64_t entry = find_entry(pid);
	struct user_regs_struct registers;
	long word, with_breakpoint;
	int r, status;

	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, pid, entry, NULL);
	if (errno)
		return -errno;
	with_breakpoint = (word & ~0xffL) | BREAKPOINT;
	if (ptrace(PTRACE_POKETEXT, pid, entry, with_breakpoint) < 0 ||
	    ptrace(PTRACE_CONT, pid, NULL, NULL) < 0)
		return -errno;
	r = wait_for_stop(pid, &status);
	if (r == 0)
		r = tracee_registers(pid, &registers);
	if (r < 0)
		return r;
	if (registers.rip != entry + 1)
		return -ECHILD;
	registers.rip = entry;
	if (ptrace(PTRACE_POKETEXT, pid, entry, word) < 0 ||
	    ptrace(PTRACE_SETREGS, pid, NULL, &registers) < 0)
		return -errno;
	return 0;
}

/* As wait_for_stop(), while other threads of the process begin, and run untraced. */
static int wait_for_own_stop(pid_t pid, int *ret_status)
{
	pid_t tid;

	while ((tid = waitpid(-1, ret_status, __WALL)) > 0 && tid != pid)
		if (WIFSTOPPED(*ret_status) && ptrace(PTRACE_DETACH, tid, NULL, NULL) < 0)
			return -errno;
	if (tid < 0)
		return -errno;
	return WIFSTOPPED(*ret_status) ? 0 : -ECHILD;
}

int tracee_run_to_stop(pid_t pid)
{
	int r = 0, status = 0;

	do {
		int signal = r == 0 && WIFSTOPPED(status) && !(status >> 16) ? WSTOPSIG(status) : 0;

		if (ptrace(PTRACE_CONT, pid, NULL, (long)(signal == SIGTRAP ? 0 : signal)) < 0)
			return -errno;
		r = wait_for_own_stop(pid, &status);
	} while (r == 0 && WSTOPSIG(status) != SIGSTOP);
	return r;
}

int tracee_step(pid_t tid, int signal)
{
	return ptrace(PTRACE_SINGLESTEP, tid, NULL, (long)signal) < 0 ? -errno : 0;
}

int tracee_registers(pid_t tid, struct user_regs_struct *ret)
{
	return ptrace(PTRACE_GETREGS, tid, NULL, ret) < 0 ? -errno : 0;
}

size_t tracee_read(pid_t pid, uint64_t address, void *ret, size_t size)
{
	struct iovec local = { ret, size }, remote[PAGES_MAX];
	ssize_t n_read;
	size_t n = 0;

	/* Page by page, because a piece is read as a whole or not at all. */
	for (uint64_t at = address; at < address + size && n < PAGES_MAX; n++) {
		uint64_t left = address + size - at, in_page = PAGE - at % PAGE;

		remote[n].iov_base = (void *)(uintptr_t)at;
		remote[n].iov_len = left < in_page ? left : in_page;
		at += remote[n].iov_len;
	}
	n_read = process_vm_readv(pid, &local, 1, remote, n, 0);
	return n_read < 0 ? 0 : n_read;
}
