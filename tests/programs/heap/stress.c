/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-stress THREADS OPERATIONS: allocates and frees as fast as possible, OPERATIONS in all, 9 to
 * 16 calls deep; 1 of 16 is a realloc, and 1 of 16 blocks is freed by any other thread. Prints the
 * number of allocator calls, and the CPU and wall time that they took.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCKS = 1024, EXCHANGED = 64, CACHE_LINE = 128 /* CPUs fetch pairs of 64 */ };

static void *exchange[EXCHANGED];
static uint64_t n_operations;

/*
 * Workers share no cache lines: otherwise an operation might wait for another thread's writes, the
 * more often the slower operations are.
 */
struct worker {
	pthread_t thread;
	uint64_t random;
	void *blocks[BLOCKS];
	uint64_t n_calls;
} __attribute__((aligned(CACHE_LINE)));

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static __attribute__((noinline)) void operate(struct worker *worker)
{
	uint64_t random = next_random(worker);
	void **block = &worker->blocks[random % BLOCKS];
	size_t size = 16 + (random >> 16) % 512;

	if (*block && random >> 60 == 0) {
		*block = realloc(*block, size);
		worker->n_calls++;
		return;
	}
	if (*block && random >> 60 == 1)
		*block = __atomic_exchange_n(&exchange[random >> 32 & (EXCHANGED - 1)], *block,
					     __ATOMIC_ACQ_REL);
	worker->n_calls += 1 + (*block != NULL);
	free(*block);
	*block = malloc(size);
}

/* Depths vary, and are as in real programs. */
static __attribute__((noinline)) void descend(struct worker *worker, unsigned depth)
{
	if (depth)
		descend(worker, depth - 1);
	else
		operate(worker);
	__asm__ volatile("");
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (uint64_t i = 0; i < n_operations; i++)
		descend(worker, 4 + (i >> 3) % 4 + (i % 64 == 0 ? 5 : 0));
	for (int i = 0; i < BLOCKS; i++) {
		worker->n_calls += worker->blocks[i] != NULL;
		free(worker->blocks[i]);
	}
	return NULL;
}

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	int n_threads = argc > 1 ? atoi(argv[1]) : 1;
	struct worker *workers = aligned_alloc(CACHE_LINE, n_threads * sizeof(*workers));
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t n_calls = 0;

	n_operations = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000) / n_threads;
	for (int i = 0; i < n_threads; i++) {
		workers[i] = (struct worker){
			.random = 88172645463325252ULL + i * 0x9e3779b97f4a7c15ULL,
		};
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < n_threads; i++)
		n_calls += workers[i].n_calls;
	printf("%llu calls, cpu %.6f s, wall %.6f s\n", (unsigned long long)n_calls,
	       seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu, seconds(CLOCK_MONOTONIC) - wall);
	for (int i = 0; i < EXCHANGED; i++)
		free(exchange[i]);
	free(workers);
	return 0;
}
