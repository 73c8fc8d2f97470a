/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * seccomp(2): a system call that is not on the stage's list ends the process (sandbox-trap.c). Two
 * kinds fail with an error instead, as libraries make them on their own and can do without: calls
 * that look up or change a file by name (which a hostile file may have given), and calls that libc
 * replaces where a kernel lacks them: clone3(2), whose arguments a filter cannot read, by clone(2),
 * and set_robust_list(2) of a new thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/proc/procmap-query.h"
#include "common/stage/sandbox.h"

#define THREAD_FLAGS (CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)
#define UNNAMED 020000000 /* __O_TMPFILE: O_TMPFILE without O_DIRECTORY */
#define WRITING (O_ACCMODE | O_CREAT | O_TRUNC | UNNAMED)

static void release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* Only without PROT_EXEC: no executable memory, now or later. */
static int add_mapping_rule(scmp_filter_ctx filter, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

static int add_clone_rule(scmp_filter_ctx filter, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS));
}

/* Only with one of these commands as the second argument. */
static int add_command_rules(scmp_filter_ctx filter, int call, const unsigned long *commands,
			     size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				     SCMP_A1(SCMP_CMP_EQ, commands[i]));
	return r;
}

/* Not F_SETOWN, which makes the kernel send signals, nor locks and leases. */
static int add_fcntl_rules(scmp_filter_ctx filter, int call)
{
	static const unsigned long commands[] = { F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC,
						  F_GET_SEALS };

	return add_command_rules(filter, call, commands, sizeof(commands) / sizeof(*commands));
}

/*
 * isatty(3), a terminal's width, a pipe's fill level, mappings (procmap-query.h), and the creator
 * of a namespace (ioctl_ns(2)).
 */
static int add_ioctl_rules(scmp_filter_ctx filter, int call)
{
	/* TCGETS2: isatty(3) of glibc 2.42 uses it; its struct is only in the kernel's headers. */
	enum { TERMIOS2_SIZE = 44 }; /* asm-generic/termbits.h */
	static const unsigned long commands[] = {
		TCGETS,
		_IOC(_IOC_READ, 'T', 0x2a, TERMIOS2_SIZE),
		TIOCGWINSZ,
		FIONREAD,
		PROCMAP_QUERY_COMMAND,
		NS_GET_PARENT,
		NS_GET_OWNER_UID,
	};

	return add_command_rules(filter, call, commands, sizeof(commands) / sizeof(*commands));
}

/* Memory that is shared with other processes is sealed first. */
static int add_memfd_rules(scmp_filter_ctx filter, int call)
{
	static const unsigned long seals = F_ADD_SEALS;
	int r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);

	return r < 0 ? r : add_command_rules(filter, SCMP_SYS(fcntl), &seals, 1);
}

/* Only to one process. */
static int add_kill_rule(scmp_filter_ctx filter, const struct sandbox *sandbox, int call)
{
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A0(SCMP_CMP_EQ, sandbox->signalled_pid));
}

static enum sandbox_access most_access(const struct sandbox *sandbox)
{
	for (size_t i = 0; i < sandbox->n_paths; i++)
		if (sandbox->paths[i].access == SANDBOX_READ_AND_WRITE)
			return SANDBOX_READ_AND_WRITE;
	return SANDBOX_READ;
}

static int add_open_rule(scmp_filter_ctx filter, const struct sandbox *sandbox, int call)
{
	if (most_access(sandbox) == SANDBOX_READ_AND_WRITE)
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				SCMP_A2(SCMP_CMP_MASKED_EQ, WRITING, 0));
}

/*
 * Only for the C library's own signals of threads (32 to 34): SIGSYS keeps the handler that ends us
 * (sandbox-trap.c). The kernel looks at 32 bits of the number.
 */
static int add_handler_rules(scmp_filter_ctx filter, int call)
{
	static const unsigned signals[] = { 32, 33, 34 };
	int r = 0;

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals) && r == 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, UINT32_MAX, signals[i]));
	return r;
}

static int allow(scmp_filter_ctx filter, const struct sandbox *sandbox, int call)
{
	switch (call) {
	case SCMP_SYS(mmap):
	case SCMP_SYS(mprotect):
		return add_mapping_rule(filter, call);
	case SCMP_SYS(rt_sigaction):
		return add_handler_rules(filter, call);
	case SCMP_SYS(clone):
		return add_clone_rule(filter, call);
	case SCMP_SYS(fcntl):
		return add_fcntl_rules(filter, call);
	case SCMP_SYS(ioctl):
		return add_ioctl_rules(filter, call);
	case SCMP_SYS(memfd_create):
		return add_memfd_rules(filter, call);
	case SCMP_SYS(kill):
		return add_kill_rule(filter, sandbox, call);
	case SCMP_SYS(openat):
		return add_open_rule(filter, sandbox, call);
	default:
		return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
	}
}

static bool is_allowed(const struct sandbox *sandbox, int call)
{
	for (size_t i = 0; i < sandbox->n_calls; i++)
		if (sandbox->calls[i] == call)
			return true;
	return false;
}

static int refuse(scmp_filter_ctx filter, const struct sandbox *sandbox)
{
	static const struct {
		int call, error;
	} refused[] = {
		{ SCMP_SYS(open), EACCES },
		{ SCMP_SYS(openat), EACCES },
		{ SCMP_SYS(stat), EACCES },
		{ SCMP_SYS(lstat), EACCES },
		{ SCMP_SYS(access), EACCES },
		{ SCMP_SYS(faccessat), EACCES },
		{ SCMP_SYS(faccessat2), EACCES },
		{ SCMP_SYS(readlink), EACCES },
		{ SCMP_SYS(readlinkat), EACCES },
		{ SCMP_SYS(getcwd), EACCES },
		{ SCMP_SYS(getdents64), EACCES },
		{ SCMP_SYS(unlinkat), EACCES },
		{ SCMP_SYS(utimensat), EACCES },
		{ SCMP_SYS(clone3), ENOSYS },
		{ SCMP_SYS(set_robust_list), ENOSYS },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused) && r == 0; i++)
		if (!is_allowed(sandbox, refused[i].call))
			r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(refused[i].error),
					     refused[i].call, 0);
	return r;
}

int sandbox_enter_seccomp(const struct sandbox *sandbox)
{
	_cleanup_(release) scmp_filter_ctx filter =
		seccomp_init(SANDBOX_IS_FOR_TESTS ? SCMP_ACT_LOG : SCMP_ACT_TRAP);
	int r;

	if (!filter)
		return -ENOMEM;
	r = SANDBOX_IS_FOR_TESTS ? 0 : sandbox_report_refused_calls();
	if (r < 0)
		return r;
	/* Another ABI (32 bits, x32) has other call numbers: none of its calls is allowed. */
	r = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; i < sandbox->n_calls && r == 0; i++)
		r = allow(filter, sandbox, sandbox->calls[i]);
	if (r == 0 && !SANDBOX_IS_FOR_TESTS)
		r = refuse(filter, sandbox);
	return r < 0 ? r : seccomp_load(filter);
}
