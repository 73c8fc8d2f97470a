/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * exact LOG THREADS CALLS: calls the allocator in all its ways from known stacks, and logs each
 * call itself, in memory from no allocator: kind, address, size, path. The path encodes the stack:
 * for each bit, from the outermost on, `fork_off` called `left` or `right`.
 */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

enum { THREADS_MAX = 16, BLOCKS = 512, EXCHANGED = 64, DEPTH = 6 };

enum kind {
	ALLOCATED = 1,
	FREED,
	RELEASED,
	RESTORED,
};

struct entry {
	uint64_t address, size;
	uint32_t kind, path;
};

/* A thread's state and its part of the log. */
struct worker {
	pthread_t thread;
	uint64_t random;
	void *blocks[BLOCKS];
	uint64_t tid, n;
	struct entry *log;
};

static void *exchange[EXCHANGED];
static uint64_t n_calls;

static uint64_t next_random(struct worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random;
}

static void note(struct worker *worker, enum kind kind, const void *block, size_t size,
		 uint32_t path)
{
	worker->log[worker->n++] = (struct entry){ (uintptr_t)block, size, kind, path };
}

static void give_back(struct worker *worker, void *block)
{
	if (!block)
		return;
	note(worker, FREED, block, 0, 0);
	free(block);
}

static void *allocate(struct worker *worker, uint64_t random, size_t size, uint32_t path)
{
	void *block = NULL;

	switch (random >> 40 & 7) {
	case 0:
		block = calloc(size, 1);
		break;
	case 1:
		block = memalign(64, size);
		break;
	case 2:
		if (posix_memalign(&block, 128, size))
			block = NULL;
		break;
	case 3:
		block = aligned_alloc(32, size);
		break;
	default:
		block = malloc(size);
		break;
	}
	note(worker, ALLOCATED, block, size, path);
	return block;
}

static void *resize(struct worker *worker, void *block, size_t size, uint32_t path, uint64_t random)
{
	void *resized;

	note(worker, RELEASED, block, 0, 0);
	if ((random >> 50 & 15) == 0) {
		resized = realloc(block, SIZE_MAX / 4); /* fails: too large */
		note(worker, RESTORED, block, 0, 0);
		return resized ? resized : block;
	}
	resized = random >> 49 & 1 ? realloc(block, size) : reallocarray(block, size, 1);
	note(worker, ALLOCATED, resized, size, path);
	return resized;
}

static NOINLINE void operate(struct worker *worker, uint32_t path)
{
	uint64_t random = next_random(worker);
	void **block = &worker->blocks[random % BLOCKS];
	size_t size = (random >> 16) % 2048; /* may be 0: a block like any other */

	if (*block && random >> 61 == 0) {
		*block = resize(worker, *block, size ? size : 1, path, random);
		return;
	}
	if (*block && random >> 61 == 1)
		*block = __atomic_exchange_n(&exchange[random >> 32 & (EXCHANGED - 1)], *block,
					     __ATOMIC_ACQ_REL);
	give_back(worker, *block);
	*block = allocate(worker, random, size, path);
}

static NOINLINE void fork_off(struct worker *worker, uint32_t path, int depth);

static NOINLINE void left(struct worker *worker, uint32_t path, int depth)
{
	fork_off(worker, path, depth);
	__asm__ volatile("");
}

static NOINLINE void right(struct worker *worker, uint32_t path, int depth)
{
	char room[64];

	__asm__ volatile("" : : "r"(room) : "memory");
	fork_off(worker, path, depth);
	__asm__ volatile("");
}

static NOINLINE void fork_off(struct worker *worker, uint32_t path, int depth)
{
	if (depth == DEPTH)
		operate(worker, path);
	else if (path >> depth & 1)
		right(worker, path, depth + 1);
	else
		left(worker, path, depth + 1);
	__asm__ volatile("");
}

static NOINLINE void *work(void *arg)
{
	struct worker *worker = arg;

	worker->tid = syscall(SYS_gettid);
	while (worker->n + 4 < n_calls)
		fork_off(worker, next_random(worker) >> 20 & ((1 << DEPTH) - 1), 0);
	for (int i = 0; i < BLOCKS; i += 2)
		give_back(worker, worker->blocks[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS_MAX];
	int n_threads = atoi(argv[2]);
	uint64_t n_entries, size;
	struct entry *log;
	int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);

	n_calls = strtoull(argv[3], NULL, 10) / n_threads;
	n_entries = n_calls + BLOCKS;
	size = n_threads * (n_entries + 1) * sizeof(*log);
	if (n_threads > THREADS_MAX || fd < 0 || ftruncate(fd, size) < 0)
		return 1;
	log = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (log == MAP_FAILED)
		return 1;
	for (int i = 0; i < n_threads; i++) {
		workers[i].random = 88172645463325252ULL + i * 0x9e3779b97f4a7c15ULL;
		workers[i].log = log + i * (n_entries + 1) + 1; /* entry -1: TID and count */
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(workers[i].thread, NULL);
	for (int i = 0; i < n_threads; i++)
		workers[i].log[-1] = (struct entry){ workers[i].tid, workers[i].n, 0, 0 };
	return 0;
}
