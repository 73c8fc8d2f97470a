/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ordinary pthreads, no signals, no tricks: one parser thread with a 64 MiB stack recurses and
 * allocates; then small worker threads (128 KiB) run in pairs, while the main thread loads and
 * unloads a plug-in now and then.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void *volatile kept[8];
__attribute__((noinline)) static void deep(int n)
{
	volatile char frame[4096];
	frame[0] = n;
	kept[2] = malloc(100);
	free(kept[2]);
	if (n)
		deep(n - 1);
	kept[3] = (void *)&frame[1];
}
static void *parser(void *arg)
{
	deep(500);
	return NULL;
}
static void *worker(void *arg)
{
	for (int i = 0; i < 200; i++) {
		void *volatile p = malloc(50);
		free(p);
		usleep(10);
	}
	return NULL;
}
static pthread_t start(void *(*f)(void *), size_t size)
{
	pthread_attr_t a;
	pthread_t t;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, size);
	if (pthread_create(&t, &a, f, NULL)) {
		perror("pthread_create");
		exit(1);
	}
	return t;
}
int main(void)
{
	pthread_join(start(parser, 64 << 20), NULL);
	for (int i = 0; i < 300; i++) {
		pthread_t a = start(worker, 128 << 10), b = start(worker, 128 << 10);
		for (int k = 0; k < 20; k++) {
			void *l = dlopen("libm.so.6", RTLD_NOW);
			if (l)
				dlclose(l);
		}
		pthread_join(a, NULL);
		pthread_join(b, NULL);
	}
	puts("program ended well");
	return 0;
}
