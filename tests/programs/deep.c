/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins at the bottom of a deep recursion:
 *
 *	deep DEPTH FRAME-BYTES CPU-SECONDS [thread]	with frames of so many bytes each
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define EACH_OF_ITS_OWN __attribute__((noinline, noclone, noipa))

enum { ROUNDS = 10000 /* between looks at the clock, which is a system call */ };

static long depth, frame_bytes;
static double seconds;

static EACH_OF_ITS_OWN void spin_at_the_bottom(void)
{
	struct timespec begun, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
	do {
		for (volatile int i = 0; i < ROUNDS; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	} while (now.tv_sec - begun.tv_sec + (now.tv_nsec - begun.tv_nsec) / 1e9 < seconds);
}

static EACH_OF_ITS_OWN void descend(long left)
{
	volatile char frame[frame_bytes];

	memset((char *)frame, left, frame_bytes);
	if (left > 1)
		descend(left - 1);
	else
		spin_at_the_bottom();
	frame[0] = left; /* no tail call */
}

static EACH_OF_ITS_OWN void *run(void *arg)
{
	descend(depth);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (argc < 4)
		return 2;
	depth = atol(argv[1]);
	frame_bytes = atol(argv[2]);
	seconds = atof(argv[3]);
	if (argc == 4)
		return run(NULL) != NULL;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, depth * (frame_bytes + 128) + (1 << 20));
	return pthread_create(&thread, &attributes, run, NULL) || pthread_join(thread, NULL);
}
