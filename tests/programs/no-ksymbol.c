/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Preloaded: imitates a kernel that refuses events for its own code (attr.ksymbol) with the error
 * number in the environment variable NO_KSYMBOL.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 6 };

long syscall(long number, ...)
{
	long (*next)(long number, ...) = dlsym(RTLD_NEXT, "syscall");
	const char *error = getenv("NO_KSYMBOL");
	long arguments[ARGUMENTS_MAX];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < ARGUMENTS_MAX; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_perf_event_open && error &&
	    ((const struct perf_event_attr *)arguments[0])->ksymbol) {
		errno = atoi(error);
		return -1;
	}
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}
