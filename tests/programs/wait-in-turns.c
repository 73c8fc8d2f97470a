/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread waits shortly in two functions in turns, and prints how long it waited in each:
 *
 *	wait-in-turns ROUNDS	"little TID NS NS" and "more TID NS NS", without its CPU time
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LITTLE_NS = 200000, MORE_NS = 1000000 };

#define EACH_OF_ITS_OWN __attribute__((noinline, noclone, noipa))

/* Nanoseconds that this thread has not run. */
static uint64_t time_off_cpu(void)
{
	struct timespec now, ran;

	clock_gettime(CLOCK_MONOTONIC, &now);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
	return (now.tv_sec - ran.tv_sec) * 1000000000ULL + now.tv_nsec - ran.tv_nsec;
}

static EACH_OF_ITS_OWN void wait_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = LITTLE_NS }, NULL);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static EACH_OF_ITS_OWN void wait_more(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = MORE_NS }, NULL);
	__asm__ volatile("" ::: "memory");
}

static uint64_t take(void (*wait)(void))
{
	uint64_t begun = time_off_cpu();

	wait();
	return time_off_cpu() - begun;
}

static void *take_turns(void *arg)
{
	const long *rounds = arg;
	uint64_t little = 0, more = 0;

	prctl(PR_SET_NAME, "in-turns");
	prctl(PR_SET_TIMERSLACK, 1);
	for (long i = 0; i < *rounds; i++) {
		little += take(wait_little);
		more += take(wait_more);
	}
	fprintf(stderr, "little %d %lu %lu\n", gettid(), little, little);
	fprintf(stderr, "more %d %lu %lu\n", gettid(), more, more);
	return NULL;
}

int main(int argc, char **argv)
{
	long rounds = argc == 2 ? atol(argv[1]) : 0;
	pthread_t thread;

	return pthread_create(&thread, NULL, take_turns, &rounds) || pthread_join(thread, NULL);
}
