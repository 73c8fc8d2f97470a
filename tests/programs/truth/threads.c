/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Before a thread there is only the C library's thread start. The main thread ends first, but the
 * process lives on.
 *
 * truth: aside START main (LIBC|LD|PLT|GCC_S)*    # pthread_exit() unwinds
 * truth: comm first
 * truth: chain THREAD first outer WORK
 * truth: aside THREAD first? (LIBC|LD|PLT|GCC_S)*
 * truth: comm second
 * truth: chain THREAD second outer WORK
 * truth: aside THREAD second? (LIBC|LD|PLT|GCC_S)*
 * truth: comm threads
 * truth: aside THREAD (first|second)? (LIBC|LD|PLT|GCC_S)*   # the last one ends the process
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "truth.h"

static long rounds_of_each;

static LINK void outer(void)
{
	spin();
	STAY();
}

static LINK void *first(void *argument)
{
	prctl(PR_SET_NAME, "first");
	for (long i = 0; i < rounds_of_each; i++)
		outer();
	return NULL;
}

static LINK void *second(void *argument)
{
	prctl(PR_SET_NAME, "second");
	for (long i = 0; i < 2 * rounds_of_each; i++)
		outer();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	rounds_of_each = rounds_of(argc, argv) / 3;
	if (pthread_create(&threads[0], NULL, first, NULL) ||
	    pthread_create(&threads[1], NULL, second, NULL))
		return 1;
	pthread_exit(NULL);
}
