/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps calling clock_gettime(2): in the vDSO, which is in no file.
 *
 * truth: chain START main outer LIBC VDSO
 * truth: aside START main outer clock_gettime@plt
 * truth: aside START main outer LIBC? LD+
 */
#include <time.h>

#include "truth.h"

static LINK void outer(void)
{
	struct timespec time;

	for (int i = 0; i < 500; i++)
		clock_gettime(CLOCK_MONOTONIC, &time);
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
