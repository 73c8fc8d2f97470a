/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls into the C library: functions that call back, functions bound lazily by the dynamic linker,
 * functions chosen by CPU, and assembly.
 */
#include <math.h>
#include <search.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;
static volatile size_t lengths[] = { 1, 15, 16, 31, 40, 64, 100, 200, 300, 600, 3000 };

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
	int numbers[24], key = 5;

	for (int i = 0; i < 24; i++)
		numbers[i] = i * 7919 % 31;
	qsort(numbers, 24, sizeof(int), compare);
	sink += bsearch(&key, numbers, 24, sizeof(int), compare) != NULL;
}

static void move(void)
{
	static char from[4096], to[8192];

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		size_t n = lengths[i];

		memset(from, 'x', n);
		from[n] = 0;
		memcpy(to, from, n + 1);
		memmove(to + 1, to, n);
		sink += strlen(from) + memcmp(from, to, n) + strcmp(from, to + 1);
		sink += strchr(from, 'y') != NULL;
		sink += memchr(from, 'z', n) != NULL;
		sink += strrchr(from, 'x') - from;
		strcpy(to, from);
		strcat(to, "tail");
		sink += strcasecmp(to, from) + strspn(from, "x") + (strstr(from, "xxy") != NULL);
	}
}

static void calculate(void)
{
	for (volatile double x = 0.1; x < 1e6; x *= 31) {
		sink += sin(x) + cos(x) + exp(-x) + log(x) + pow(x, 0.3) + fmod(x, 0.7);
		sink += floor(x) + sqrt(x) + atan2(x, 2) + tanh(x) + strtod("1.25e3", NULL);
	}
}

static void start_children(void)
{
	char *arguments[] = { "true", NULL };
	pid_t pid = vfork();

	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, arguments + 1) == 0)
		waitpid(pid, NULL, 0);
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	struct timespec now;
	char text[200];
	void *tree = NULL;

	sort();
	move();
	calculate();
	start_children();
	for (int i = 0; i < 4; i++)
		tsearch((void *)&lengths[i], &tree, compare);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sink += time(NULL) + now.tv_nsec;
	snprintf(text, sizeof(text), "%d %s %.3f", 7, "text", sink);
	free(realloc(malloc(100), 5000));
	return getenv(text) != NULL;
}
