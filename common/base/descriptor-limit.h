/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <sys/resource.h>

/* Raises this process's limit of open descriptors to its hard limit and returns it; 0: unknown. */
static inline rlim_t descriptor_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	return limit.rlim_cur;
}
