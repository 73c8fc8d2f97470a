/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spins in signal handlers: on the normal stack, on an alternate one, and one nested in another. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

enum { INTERVAL_US = 500, OWN_STACK = 65536 };

static volatile long n_signals;

static void spin(int n)
{
	for (volatile int i = 0; i < n; i++)
		;
}

static void inner(int signal)
{
	spin(20000);
}

static void outer(int signal)
{
	spin(50000);
	if (++n_signals % 3 == 0)
		raise(SIGUSR2);
}

__attribute__((noinline)) static long work(int depth)
{
	if (depth == 0) {
		spin(30000);
		return 1;
	}
	return work(depth - 1) + 1;
}

int main(int argc, char **argv)
{
	const struct itimerval often = { { 0, INTERVAL_US }, { 0, INTERVAL_US } };
	const stack_t own = { .ss_sp = malloc(OWN_STACK), .ss_size = OWN_STACK };
	const struct sigaction on_own = { .sa_handler = outer, .sa_flags = SA_ONSTACK };
	const struct sigaction nested = { .sa_handler = inner };
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);
	long sum = 0;

	sigaltstack(&own, NULL);
	sigaction(SIGALRM, &on_own, NULL);
	sigaction(SIGUSR2, &nested, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (time(NULL) < end)
		sum += work(20);
	printf("%ld %ld\n", sum, n_signals);
}
