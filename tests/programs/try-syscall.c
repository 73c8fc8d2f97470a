/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Makes another process execute a system call, as an attacker who controls it would:
 *
 *	try-syscall PID CALL [ARG...]
 *
 * An argument is a number, or a text after a colon, which is put on the process's stack. The call
 * replaces the process's next one, usually the one that it waits in. Prints "returned N", or
 * "killed N" with the signal that ended the process, whose state is damaged in either case: end it.
 */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum { ARGS_MAX = 6 };

static pid_t pid;

static void must(int is_good, const char *what)
{
	if (is_good)
		return;
	perror(what);
	exit(2);
}

/* Waits until the process stops for us; exits if it ended. Passes on signals. */
static void wait_for_stop(void)
{
	int status;

	for (;;) {
		must(waitpid(pid, &status, __WALL) == pid, "waitpid");
		if (!WIFSTOPPED(status)) {
			printf("killed %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
			exit(0);
		}
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) || status >> 16 == PTRACE_EVENT_STOP)
			return;
		must(ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status)) == 0, "ptrace");
	}
}

static unsigned long put_text(const char *text, unsigned long *at)
{
	size_t size = strlen(text) + 1;
	struct iovec local = { (char *)text, size }, remote = { (void *)*at, size };
	unsigned long put_at = *at;

	must(process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)size,
	     "process_vm_writev");
	*at += (size + 15) & ~15UL;
	return put_at;
}

static void resume(enum __ptrace_request request)
{
	must(ptrace(request, pid, 0, 0) == 0, "ptrace");
	wait_for_stop();
}

static bool is_entering(void)
{
	struct __ptrace_syscall_info info;

	must(ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) > 0, "ptrace");
	return info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* A process killed by seccomp still leaves the call, with SIGSYS pending. */
static void end_if_killed(void)
{
	struct __ptrace_peeksiginfo_args first = { .nr = 1 };
	siginfo_t info;

	if (ptrace(PTRACE_PEEKSIGINFO, pid, &first, &info) == 1 && info.si_signo == SIGSYS)
		resume(PTRACE_CONT);
}

int main(int argc, char **argv)
{
	unsigned long args[ARGS_MAX] = { 0 }, text_at;
	struct user_regs_struct registers;
	int call;

	must(argc >= 3 && argc <= 3 + ARGS_MAX, "usage: try-syscall PID CALL [ARG...]");
	pid = atoi(argv[1]);
	call = seccomp_syscall_resolve_name(argv[2]);
	must(call >= 0, argv[2]);
	must(ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD) == 0, "ptrace");
	resume(PTRACE_INTERRUPT);
	do {
		resume(PTRACE_SYSCALL);
	} while (!is_entering());
	must(ptrace(PTRACE_GETREGS, pid, 0, &registers) == 0, "ptrace");
	text_at = registers.rsp; /* overwrites the stack: the process is not resumed */
	for (int i = 3; i < argc; i++)
		args[i - 3] = argv[i][0] == ':' ? put_text(argv[i] + 1, &text_at)
						: strtoul(argv[i], NULL, 0);
	registers.orig_rax = call;
	registers.rdi = args[0];
	registers.rsi = args[1];
	registers.rdx = args[2];
	registers.r10 = args[3];
	registers.r8 = args[4];
	registers.r9 = args[5];
	must(ptrace(PTRACE_SETREGS, pid, 0, &registers) == 0, "ptrace");
	resume(PTRACE_SYSCALL); /* until the call returns */
	end_if_killed();
	must(ptrace(PTRACE_GETREGS, pid, 0, &registers) == 0, "ptrace");
	printf("returned %ld\n", (long)registers.rax);
	return 0;
}
