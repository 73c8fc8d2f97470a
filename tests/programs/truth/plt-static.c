/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A static program has a PLT for the functions that have several versions (IFUNC).
 *
 * truth: builds plt-static plt-static-lld plt-static-mold plt-static-gold
 * truth: chain START main outer (versions@plt|versions) # newer mold: the stub has the bare name
 * truth: chain START main outer only_version
 * truth: aside _start (__libc_start_main|__libc_start_main_impl) LIBC+ # resolvers
 *
 * Few samples fall on a jump that costs nothing. A sample falls behind the instruction that was
 * waited for, so the call in front of it fetches from memory where it leads.
 */
#include "truth.h"

enum { N_STEPS = 200 }; /* about the time of the fetch */

static LINK int only_version(void)
{
	for (int step = 0; step < N_STEPS; step++)
		STAY();
	return 1;
}

static int (*choose(void))(void)
{
	return only_version;
}

int versions(void) __attribute__((ifunc("choose")));

static LINK void outer(void)
{
	static int (*stub)(void);

	stub = versions; /* an initializer would be resolved past the stub */
	for (int i = 0; i < 10000; i++) {
		KEEP(&stub);
		__builtin_ia32_clflush(&stub);
		stub();
	}
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
