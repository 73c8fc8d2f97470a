/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be preloaded: the clock of the world is an hour later each other time that it is asked, and an
 * hour earlier the times between, as if somebody set it all the while. CLOCK_MONOTONIC, which
 * nobody can set, is as it is.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { HOUR = 3600 };

static time_t jump(void)
{
	static unsigned int n;

	return __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 2 ? -HOUR : HOUR;
}

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = syscall(SYS_clock_gettime, clock, ret);

	if (r == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		ret->tv_sec += jump();
	return r;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
	int r = syscall(SYS_gettimeofday, ret, zone);

	if (r == 0)
		ret->tv_sec += jump();
	return r;
}

time_t time(time_t *ret)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (ret)
		*ret = now.tv_sec;
	return now.tv_sec;
}
