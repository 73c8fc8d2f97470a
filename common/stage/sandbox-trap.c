/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names the refused system call of a process before it ends. The kernel does not make the call, but
 * sends SIGSYS (SECCOMP_RET_TRAP, seccomp(2)); if that is blocked or ignored, the kernel ends the
 * process. The handler writes one line and makes another call that no sandbox allows: SIGSYS is
 * blocked by then, so the process ends as without a handler. Sandboxes allow no other handler
 * (sandbox-seccomp.c).
 */
#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/stage/sandbox.h"

enum { CALLS_MAX = 512, NAME_SIZE = 32, LINE_SIZE = 256, SIGNALLED = 128 };

/* From asm-generic/siginfo.h; missing in libc's headers. */
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

/* Resolved before: the handler may interrupt malloc(3). */
static char names[CALLS_MAX][NAME_SIZE];

static void read_names(void)
{
	for (int call = 0; call < CALLS_MAX; call++) {
		_cleanup_free_ char *name =
			seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);

		if (name)
			snprintf(names[call], NAME_SIZE, "%s", name);
	}
}

struct trap_message {
	char text[LINE_SIZE];
	size_t size;
};

static void add(struct trap_message *line, const char *text)
{
	while (*text && line->size < LINE_SIZE)
		line->text[line->size++] = *text++;
}

static void add_number(struct trap_message *line, unsigned number)
{
	char digits[16], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = '0' + number % 10;
	} while (number /= 10);
	add(line, at);
}

static void on_refused_call(int signal, siginfo_t *info, void *context)
{
	struct trap_message line = { .size = 0 };
	unsigned call = info->si_syscall;

	(void)context;
	add(&line, program_invocation_short_name);
	add(&line, ": error: the sandbox does not allow the system call ");
	if (call < CALLS_MAX && names[call][0])
		add(&line, names[call]);
	else
		add_number(&line, call);
	add(&line, ": please report this; use --sandbox=off meanwhile\n");
	/* kill(2) may have sent it. */
	if (info->si_code == SYS_SECCOMP && write(STDERR_FILENO, line.text, line.size) < 0)
		_exit(SIGNALLED + signal);
	syscall(SYS_getppid);
	_exit(SIGNALLED + signal);
}

int sandbox_report_refused_calls(void)
{
	struct sigaction action = { .sa_sigaction = on_refused_call, .sa_flags = SA_SIGINFO };

	read_names();
	sigemptyset(&action.sa_mask);
	return sigaction(SIGSYS, &action, NULL) < 0 ? -errno : 0;
}
