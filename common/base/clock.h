/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks, in nanoseconds. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NANOSECONDS_A_SECOND 1000000000ULL
#define NANOSECONDS_A_MILLISECOND 1000000ULL
#define NANOSECONDS_A_MICROSECOND 1000ULL

static inline uint64_t clock_nanoseconds(struct timespec time)
{
	return time.tv_sec * NANOSECONDS_A_SECOND + time.tv_nsec;
}

static inline uint64_t clock_now(clockid_t id)
{
	struct timespec time;

	clock_gettime(id, &time);
	return clock_nanoseconds(time);
}
