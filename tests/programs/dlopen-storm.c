/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loads and unloads libraries one after the other, evenly over SECONDS:
 *
 *	dlopen-storm N SECONDS LIBRARY...
 *
 * Each load maps executable memory, which the kernel reports as an event; unmapping it is not
 * reported. The next library often gets the address of the last one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static void sleep_until(uint64_t time_ns)
{
	struct timespec until = { time_ns / 1000000000, time_ns % 1000000000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static void load_and_unload(const char *name)
{
	void *library = dlopen(name, RTLD_LAZY);

	if (!library) {
		fprintf(stderr, "dlopen-storm: %s\n", dlerror());
		exit(1);
	}
	dlclose(library);
}

int main(int argc, char **argv)
{
	unsigned long n = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
	double seconds = argc > 3 ? strtod(argv[2], NULL) : 0;
	uint64_t begun = now();

	if (!n || seconds <= 0)
		return 2;
	for (unsigned long i = 0; i < n; i++) {
		sleep_until(begun + i * seconds * 1e9 / n);
		load_and_unload(argv[3 + i % (argc - 3)]);
	}
	printf("cycles=%lu seconds=%.1f\n", n, (now() - begun) / 1e9);
	return 0;
}
