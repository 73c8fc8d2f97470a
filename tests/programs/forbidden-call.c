/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded: makes system call number FORBIDDEN_CALL in the process named FORBIDDEN_NAME once it is
 * in its sandbox, like a libc that makes an unexpected call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int seccomp_load(const scmp_filter_ctx filter)
{
	int (*next)(const scmp_filter_ctx filter) = dlsym(RTLD_NEXT, "seccomp_load");
	const char *name = getenv("FORBIDDEN_NAME"), *call = getenv("FORBIDDEN_CALL");
	int r = next(filter);

	if (name && call && !strcmp(program_invocation_short_name, name))
		syscall(atoi(call), 0, 0, 0, 0, 0, 0);
	return r;
}
