/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pairs of threads that pass a token by pipes, with a little work at each hop: many short waits.
 * Prints "n-hops seconds" at the end.
 *
 *	hand-over PAIRS SECONDS WORK	WORK: steps of a calculation between two hops
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { PAIRS_MAX = 64 };

static uint64_t end_ns;
static uint64_t n_steps;

struct side {
	int from, to;
	uint64_t n_hops;
	pthread_t thread;
};

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static uint64_t work(uint64_t seed)
{
	for (uint64_t i = 0; i < n_steps; i++)
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return seed;
}

static void *run(void *arg)
{
	struct side *side = arg;
	uint64_t token;

	while (read(side->from, &token, sizeof(token)) == sizeof(token)) {
		token = work(token);
		side->n_hops++;
		if (now() > end_ns)
			break;
		if (write(side->to, &token, sizeof(token)) != sizeof(token))
			break;
	}
	close(side->to);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct side sides[2 * PAIRS_MAX];
	uint64_t token = 1, n = 0, begun = now();
	int n_pairs = argc == 4 ? atoi(argv[1]) : 0;

	if (n_pairs < 1 || n_pairs > PAIRS_MAX)
		return 2;
	end_ns = begun + atof(argv[2]) * 1e9;
	n_steps = atoll(argv[3]);
	for (int i = 0; i < n_pairs; i++) {
		int there[2], back[2];

		if (pipe(there) < 0 || pipe(back) < 0)
			return 1;
		sides[2 * i] = (struct side){ .from = there[0], .to = back[1] };
		sides[2 * i + 1] = (struct side){ .from = back[0], .to = there[1] };
		if (write(there[1], &token, sizeof(token)) != sizeof(token))
			return 1;
	}
	for (int i = 0; i < 2 * n_pairs; i++)
		pthread_create(&sides[i].thread, NULL, run, &sides[i]);
	for (int i = 0; i < 2 * n_pairs; i++) {
		pthread_join(sides[i].thread, NULL);
		n += sides[i].n_hops;
	}
	printf("%llu %.6f\n", (unsigned long long)n, (now() - begun) / 1e9);
	return 0;
}
