/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that wait in known ways, each in its own function, for some tenths of a second in all.
 * Prints a line "NAME TID off-ns wall-ns ready-ns" for each: off-ns is the clock time of the waits
 * minus the thread's CPU time in them, wall-ns the thread's whole life, and ready-ns the part of it
 * in which the thread was runnable without having a CPU.
 *
 *	waits FILE ROUNDS	FILE is read past the page cache, and created if missing
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FILE_SIZE = 32 << 20, BLOCK = 1 << 20, ROUND_US = 7000 };

#define EACH_OF_ITS_OWN __attribute__((noinline, noclone, noipa))

static int n_rounds;
static const char *file_path;
static int pipe_ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int futex_word;

static uint64_t now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static EACH_OF_ITS_OWN void wait_asleep(int round)
{
	usleep(ROUND_US);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static EACH_OF_ITS_OWN void wait_for_pipe(int round)
{
	char byte;

	if (read(pipe_ends[0], &byte, 1) != 1)
		abort();
	__asm__ volatile("" ::: "memory");
}

static EACH_OF_ITS_OWN void wait_for_mutex(int round)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	__asm__ volatile("" ::: "memory");
}

static EACH_OF_ITS_OWN void wait_for_futex(int round)
{
	while (__atomic_load_n(&futex_word, __ATOMIC_ACQUIRE) <= round)
		syscall(SYS_futex, &futex_word, FUTEX_WAIT,
			__atomic_load_n(&futex_word, __ATOMIC_ACQUIRE), NULL, NULL, 0);
	__asm__ volatile("" ::: "memory");
}

static EACH_OF_ITS_OWN void wait_for_disk(int round)
{
	static _Alignas(4096) char block[BLOCK];
	static int fd = -1;

	if (fd < 0)
		fd = open(file_path, O_RDONLY | O_DIRECT);
	if (pread(fd, block, BLOCK, (off_t)round * BLOCK % FILE_SIZE) != BLOCK)
		abort();
	__asm__ volatile("" ::: "memory");
}

static EACH_OF_ITS_OWN void burn(uint64_t ns)
{
	for (uint64_t begun = now(CLOCK_THREAD_CPUTIME_ID);
	     now(CLOCK_THREAD_CPUTIME_ID) - begun < ns;)
		;
}

struct waiter {
	const char *name;
	void (*wait)(int round);
	pthread_t thread;
	pid_t tid;
	uint64_t begun, off_ns, wall_ns, ready_ns;
};

/* This thread's time runnable, by proc_pid_schedstat(5). 0: not available. */
static uint64_t time_ready(void)
{
	unsigned long long ready = 0;
	FILE *file = fopen("/proc/thread-self/schedstat", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%*u %llu", &ready) != 1)
		ready = 0;
	fclose(file);
	return ready;
}

/* Burns CPU time between waits, so that the thread's life is not all waiting. */
static void *run(void *arg)
{
	struct waiter *self = arg;

	self->tid = gettid();
	pthread_setname_np(pthread_self(), self->name);
	for (int round = 0; round < n_rounds; round++) {
		uint64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);

		self->wait(round);
		self->off_ns += now(CLOCK_MONOTONIC) - wall;
		self->off_ns -= now(CLOCK_THREAD_CPUTIME_ID) - cpu;
		burn(300000);
	}
	self->wall_ns = now(CLOCK_MONOTONIC) - self->begun;
	self->ready_ns = time_ready();
	return NULL;
}

/* Releases the waiting threads once per round, of ROUND_US. */
static void feed(void)
{
	for (int round = 0; round < n_rounds; round++) {
		pthread_mutex_lock(&mutex);
		usleep(ROUND_US);
		pthread_mutex_unlock(&mutex);
		if (write(pipe_ends[1], "x", 1) != 1)
			abort();
		__atomic_store_n(&futex_word, round + 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1, NULL, NULL, 0);
		usleep(ROUND_US / 4);
	}
}

static void make_file(void)
{
	static _Alignas(4096) char block[BLOCK];
	int fd = open(file_path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	if (fd < 0)
		return;
	memset(block, 1, sizeof(block));
	for (int i = 0; i < FILE_SIZE / BLOCK; i++)
		if (write(fd, block, BLOCK) != BLOCK)
			abort();
	fsync(fd);
	close(fd);
}

int main(int argc, char **argv)
{
	struct waiter waiters[] = {
		{ "asleep", wait_asleep },	 { "for-pipe", wait_for_pipe },
		{ "for-mutex", wait_for_mutex }, { "for-futex", wait_for_futex },
		{ "for-disk", wait_for_disk },
	};
	enum { N_WAITERS = sizeof(waiters) / sizeof(*waiters) };

	if (argc < 3)
		return 2;
	file_path = argv[1];
	n_rounds = atoi(argv[2]);
	make_file();
	if (pipe(pipe_ends) < 0)
		return 1;
	for (int i = 0; i < N_WAITERS; i++) {
		waiters[i].begun = now(CLOCK_MONOTONIC);
		pthread_create(&waiters[i].thread, NULL, run, &waiters[i]);
	}
	feed();
	for (int i = 0; i < N_WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		printf("%s %d %llu %llu %llu\n", waiters[i].name, waiters[i].tid,
		       (unsigned long long)waiters[i].off_ns,
		       (unsigned long long)waiters[i].wall_ns,
		       (unsigned long long)waiters[i].ready_ns);
	}
	return 0;
}
