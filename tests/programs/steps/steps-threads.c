/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads from their first instruction to their last. */
#include <pthread.h>

static __thread volatile int own;

static __attribute__((noinline)) void work(int a)
{
	own += a;
}

static void *run(void *arg)
{
	for (int i = 0; i < *(int *)arg; i++)
		work(1);
	return NULL;
}

int main(void)
{
	int numbers[] = { 2, 5 };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, run, &numbers[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
