/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins in a known chain of calls, outer → middle → inner, for tests to find in stacks:
 *
 *	chain once SECONDS	from main()
 *	chain threads SECONDS	from left() and right(), in two threads of these names
 *	chain forks SECONDS	from child(), in one short-lived child process after the other
 *
 * SECONDS is CPU time, of each thread or of all children together.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAIN_LINK __attribute__((noinline, noclone))

static const double child_seconds = 0.02;
static volatile unsigned long sink;

static CHAIN_LINK void inner(void)
{
	for (unsigned long i = 0; i < 1000000; i++)
		sink = i * i;
}

static CHAIN_LINK void middle(void)
{
	inner();
	sink++; /* no tail call */
}

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static CHAIN_LINK void outer(double seconds)
{
	double end = cpu_seconds() + seconds;

	while (cpu_seconds() < end)
		middle();
	sink++;
}

static CHAIN_LINK void *left(void *seconds)
{
	pthread_setname_np(pthread_self(), "left");
	outer(*(double *)seconds);
	return NULL;
}

static CHAIN_LINK void *right(void *seconds)
{
	pthread_setname_np(pthread_self(), "right");
	outer(*(double *)seconds);
	return NULL;
}

static void run_threads(double seconds)
{
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, left, &seconds) ||
	    pthread_create(&threads[1], NULL, right, &seconds))
		exit(1);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static CHAIN_LINK void child(void)
{
	outer(child_seconds);
	_exit(0);
}

static void run_forks(double seconds)
{
	for (double used = 0; used < seconds; used += child_seconds) {
		pid_t pid = fork();

		if (pid == 0)
			child();
		if (pid < 0 || waitpid(pid, NULL, 0) < 0)
			exit(1);
	}
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? strtod(argv[2], NULL) : 0;

	if (seconds > 0 && !strcmp(argv[1], "once"))
		outer(seconds);
	else if (seconds > 0 && !strcmp(argv[1], "threads"))
		run_threads(seconds);
	else if (seconds > 0 && !strcmp(argv[1], "forks"))
		run_forks(seconds);
	else
		return 2;
	return 0;
}
