/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads and processes that live for microseconds, many that run side by side, or a program that
 * executes another one. Prints the total of all of them, "CPU SECONDS", on stderr.
 *
 *	short-lived threads N | forks N | together N | waiting N | exec PROGRAM [go]
 *
 * With "go" it starts when standard input has data; the threads of "waiting" are created before and
 * wait for it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORKS_AT_A_TIME = 16, TOGETHER_MS = 1500, EXEC_MS = 400 };

static void spin(long turns)
{
	for (volatile long i = 0; i < turns; i++)
		;
}

static double now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void spin_for(int ms)
{
	double end = now(CLOCK_MONOTONIC) + ms / 1e3;

	while (now(CLOCK_MONOTONIC) < end)
		spin(10000);
}

static void *shortly(void *turns)
{
	spin((intptr_t)turns);
	return NULL;
}

static void *together(void *ms)
{
	spin_for((intptr_t)ms);
	return NULL;
}

static pthread_barrier_t all_may_go;

static void *wait_together(void *ms)
{
	pthread_barrier_wait(&all_may_go);
	return together(ms);
}

static void run_threads(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, shortly, (void *)8000))
			abort();
		pthread_join(thread, NULL);
	}
}

static void run_forks(int n)
{
	for (int i = 0; i < n; i += FORKS_AT_A_TIME) {
		for (int k = 0; k < FORKS_AT_A_TIME; k++)
			if (fork() == 0) {
				spin(200000);
				_exit(0);
			}
		while (wait(NULL) > 0)
			;
	}
}

static void start_together(pthread_t *threads, int n, void *(*run)(void *))
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 * 1024);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attributes, run, (void *)TOGETHER_MS))
			abort();
}

static void run_together(int n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	start_together(threads, n, together);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void run_waiting(int n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));

	pthread_barrier_init(&all_may_go, NULL, n + 1);
	start_together(threads, n, wait_together);
	getchar();
	pthread_barrier_wait(&all_may_go);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static double seconds_of(int who)
{
	struct rusage usage;

	getrusage(who, &usage);
	return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	if (argc > 3)
		getchar();
	if (!strcmp(mode, "threads"))
		run_threads(atoi(argv[2]));
	else if (!strcmp(mode, "forks"))
		run_forks(atoi(argv[2]));
	else if (!strcmp(mode, "together"))
		run_together(atoi(argv[2]));
	else if (!strcmp(mode, "waiting"))
		run_waiting(atoi(argv[2]));
	else if (!strcmp(mode, "exec")) {
		spin_for(EXEC_MS);
		execl(argv[2], argv[2], "together", "1", NULL);
		return 1;
	} else
		return 2;
	fprintf(stderr, "CPU %.4f\n", seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN));
	return 0;
}
