/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/proc/proc.h"
#include "perf-source/cpu-time.h"

/* From /proc/PID/stat; children are those that the process has waited for. */
struct proc_stat {
	int parent;
	uint64_t user, kernel, children_user, children_kernel; /* ticks */
};

static int read_stat(pid_t pid, struct proc_stat *ret)
{
	_cleanup_file_ FILE *file = NULL;
	char path[64], line[1024], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return -ESRCH;
	/* The name may contain anything, but no later field contains a bracket. */
	at = strrchr(line, ')');
	if (!at ||
	    sscanf(at, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &ret->parent,
		   &ret->user, &ret->kernel, &ret->children_user, &ret->children_kernel) != 5)
		return -EBADMSG;
	return 0;
}

static uint64_t nanoseconds_of_ticks(uint64_t ticks)
{
	return ticks * (NANOSECONDS_A_SECOND / sysconf(_SC_CLK_TCK));
}

static uint64_t nanoseconds_of(struct timeval time)
{
	return time.tv_sec * NANOSECONDS_A_SECOND + time.tv_usec * NANOSECONDS_A_MICROSECOND;
}

/* glibc's waitid() lacks the system call's rusage (wait4(2), NOTES). */
int cpu_time_of_child(pid_t pid, struct cpu_time *ret)
{
	siginfo_t info = { .si_pid = 0 };
	struct rusage usage;
	struct proc_stat stat;
	int r;

	if (syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT, &usage) < 0)
		return -errno;
	if (info.si_pid == pid) {
		*ret = (struct cpu_time){ nanoseconds_of(usage.ru_utime),
					  nanoseconds_of(usage.ru_stime) };
		return 0;
	}
	r = read_stat(pid, &stat);
	if (r == 0)
		*ret = (struct cpu_time){
			nanoseconds_of_ticks(stat.user + stat.children_user),
			nanoseconds_of_ticks(stat.kernel + stat.children_kernel),
		};
	return r;
}

int cpu_time_of_process(pid_t pid, struct cpu_time *ret, struct cpu_time *ret_children)
{
	struct proc_stat stat;
	int r = read_stat(pid, &stat);

	if (r < 0)
		return r;
	*ret = (struct cpu_time){ nanoseconds_of_ticks(stat.user),
				  nanoseconds_of_ticks(stat.kernel) };
	*ret_children = (struct cpu_time){ nanoseconds_of_ticks(stat.children_user),
					   nanoseconds_of_ticks(stat.children_kernel) };
	return 0;
}

/* Ends the search at the first child. */
static int refuse_child(uint32_t pid, void *arg)
{
	struct proc_stat stat;

	return read_stat(pid, &stat) == 0 && stat.parent == *(pid_t *)arg ? -EEXIST : 0;
}

bool cpu_time_has_children(pid_t pid)
{
	return proc_each_process(refuse_child, &pid) == -EEXIST;
}
