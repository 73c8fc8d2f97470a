/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins for some milliseconds in each of several kinds of frames: a recursion, a comparator that
 * the C library calls, a frame that alloca(3) makes, a function pointer, a signal handler.
 */
#include <alloca.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FRAME __attribute__((noinline))

static volatile unsigned long sink;

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static FRAME void spin(void)
{
	for (unsigned long i = 0; i < 200000; i++)
		sink += i * i;
}

static FRAME void recurse(int depth)
{
	if (depth)
		recurse(depth - 1);
	else
		spin();
	sink++;
}

static FRAME int compare(const void *a, const void *b)
{
	spin();
	return *(const int *)a - *(const int *)b;
}

static FRAME void sort(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(*numbers), compare);
	sink += numbers[0];
}

static FRAME void grow(void)
{
	size_t size = 100 + sink % 7 * 16;
	char *room = alloca(size);

	memset(room, 1, size);
	spin();
	sink += room[size - 1];
}

static void handle(int signal)
{
	spin();
}

static FRAME void raise_one(void)
{
	raise(SIGUSR1);
	sink++;
}

static void deep(void)
{
	recurse(5);
}

int main(void)
{
	void (*const ways[])(void) = { deep, sort, grow, raise_one };

	signal(SIGUSR1, handle);
	for (long end = now() + 24; now() < end;)
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
			ways[i]();
	return 0;
}
