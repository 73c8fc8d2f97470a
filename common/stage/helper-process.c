/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/base/capabilities.h"
#include "common/stage/helper-process.h"
#include "common/stage/sandbox.h"

enum {
	READER_SECONDS_MAX = 10,		/* of CPU */
	READER_MEMORY_MAX = 1024 * 1024 * 1024, /* bytes */
};

/* First duplicates each above the final ones, so that none is overwritten before its turn. */
static bool place(const int *fds, size_t n)
{
	int lifted[HELPER_PROCESS_FDS_MAX];

	if (n > HELPER_PROCESS_FDS_MAX)
		return false;
	for (size_t i = 0; i < n; i++)
		lifted[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, HELPER_PROCESS_FD + n);
	for (size_t i = 0; i < n; i++)
		if (dup2(lifted[i], HELPER_PROCESS_FD + i) < 0)
			return false;
	return true;
}

bool helper_process_begin(const char *name, const int *fds, size_t n)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_NAME, name);
	program_invocation_short_name = (char *)name; /* in its messages */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0 && place(fds, n) &&
	       syscall(SYS_close_range, HELPER_PROCESS_FD + n, ~0U, 0) == 0;
}

int helper_process_watch(pid_t pid)
{
	return syscall(SYS_pidfd_open, pid, 0); /* close-on-exec */
}

bool helper_process_confine_reader(int call)
{
	static const struct rlimit cpu = { READER_SECONDS_MAX, READER_SECONDS_MAX };
	struct sandbox sandbox = { .memory_max = READER_MEMORY_MAX };

	SANDBOX_ALLOW(&sandbox, call, SCMP_SYS(pread64), SCMP_SYS(read), SCMP_SYS(lseek),
		      SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fcntl), SCMP_SYS(brk),
		      SCMP_SYS(mmap), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(close),
		      SCMP_SYS(sysinfo), /* qsort(3) asks how much memory there is */
		      SCMP_SYS(exit_group));
	return setrlimit(RLIMIT_CPU, &cpu) == 0 && sandbox_enter(&sandbox) == 0;
}

void helper_process_confine(const int *capabilities, size_t n_capabilities, const int *calls,
			    size_t n_calls)
{
	struct sandbox sandbox = { 0 };

	capabilities_keep(capabilities, n_capabilities);
	sandbox_allow(&sandbox, calls, n_calls);
	sandbox_enter_seccomp(&sandbox);
}
