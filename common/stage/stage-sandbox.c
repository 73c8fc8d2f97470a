/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sandbox of a stage: calls that every stage needs, its own description, and the report. */
#include <errno.h>
#include <seccomp.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/stage/sandbox.h"
#include "common/stage/stage-internal.h"

/*
 * Calls of the runtime, libc's allocator and signals. abort(3) needs none: a refused call ends it,
 * too. fstat(3) is newfstatat in older versions of glibc, fstat in newer ones.
 */
static const int calls_of_all[] = {
	SCMP_SYS(read),		 SCMP_SYS(write),
	SCMP_SYS(writev),	 SCMP_SYS(poll),
	SCMP_SYS(close),	 SCMP_SYS(lseek),
	SCMP_SYS(fcntl),	 SCMP_SYS(newfstatat),
	SCMP_SYS(fstat),	 SCMP_SYS(mmap),
	SCMP_SYS(munmap),	 SCMP_SYS(mremap),
	SCMP_SYS(mprotect),	 SCMP_SYS(madvise),
	SCMP_SYS(brk),		 SCMP_SYS(futex),
	SCMP_SYS(alarm),	 SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),	 SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),	 SCMP_SYS(restart_syscall),
	SCMP_SYS(clock_gettime), SCMP_SYS(getrandom),
	SCMP_SYS(exit_group),
};

void stage_sandbox_allow_images(struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(pread64));
}

void stage_sandbox_allow_thread(struct sandbox *sandbox)
{
	SANDBOX_ALLOW(sandbox, SCMP_SYS(clone), SCMP_SYS(rseq), SCMP_SYS(rt_sigaction),
		      SCMP_SYS(exit));
}

static void note_call(struct stage *stage, int call)
{
	_cleanup_free_ char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, call);

	if (name)
		*counters_get(&stage->run_counters, "sandbox-calls", name) = 1;
}

static void note(struct stage *stage, const struct sandbox *sandbox)
{
	for (size_t i = 0; i < wire_names_sandbox_parts.n; i++)
		*counters_get(&stage->run_counters, "sandbox",
			      wire_names_sandbox_parts.names[i].text) =
			!!(sandbox->parts & wire_names_sandbox_parts.names[i].number);
	for (size_t i = 0; i < sandbox->n_calls; i++)
		note_call(stage, sandbox->calls[i]);
	*counters_get(&stage->run_counters, "sandbox", "landlock-version") =
		sandbox->landlock_version;
	stage->sandbox = (struct wire_sandbox){
		.stage = wire_string(stage->program->name, 64),
		.parts = sandbox->parts,
	};
}

/* The first part that is not in force. */
static const char *find_missing(uint32_t parts)
{
	for (size_t i = 0; i < wire_names_sandbox_parts.n; i++)
		if (!(parts & wire_names_sandbox_parts.names[i].number))
			return wire_names_sandbox_parts.names[i].text;
	return NULL;
}

static int check(const struct stage *stage, const struct sandbox *sandbox)
{
	const char *missing = find_missing(sandbox->parts);

	if (!missing || stage->sandbox_mode != STAGE_SANDBOX_REQUIRED)
		return 0;
	stage_error(
		stage,
		"the sandbox is incomplete on this machine: '%s' is missing; use --sandbox=auto "
		"to run with the parts that are available",
		missing);
	return -ECANCELED;
}

int stage_enter_sandbox(struct stage *stage, void *self)
{
	struct sandbox sandbox = { 0 };
	int r;

	if (!stage->program->describe_sandbox || stage->sandbox_mode == STAGE_SANDBOX_OFF)
		return 0;
	sandbox_allow(&sandbox, calls_of_all, sizeof(calls_of_all) / sizeof(*calls_of_all));
	stage->program->describe_sandbox(self, &sandbox);
	r = sandbox_enter(&sandbox);
	if (r == 0) {
		note(stage, &sandbox);
		r = check(stage, &sandbox);
	}
	sandbox_deinit(&sandbox);
	return r;
}

int stage_report_sandbox(struct stage *stage)
{
	if (!stage->sandbox.parts)
		return 0;
	return stage_put(stage, WIRE_RECORD_sandbox, &stage->sandbox);
}
