/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ways WAY: what programs do around the allocator. Its allocations have sizes that nothing else
 * uses, so that a test can find them; exits with 0 if all went well.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SIZE = 7001, MANY = 20000 };

static void *volatile kept; /* prevents optimizing calls away */

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	fprintf(stderr, "not so: %s\n", what);
	_exit(9);
}

/* Calls each entry point once, with sizes SIZE, SIZE + 1, … */
static void every_entry(void)
{
	void *block = NULL;
	int size = SIZE;

	kept = malloc(size++);
	kept = calloc(1, size++);
	kept = realloc(NULL, size++);
	kept = reallocarray(NULL, size++, 1);
	kept = aligned_alloc(64, size++);
	check((uintptr_t)kept % 64 == 0, "aligned_alloc");
	check(posix_memalign(&block, 128, size++) == 0 && (uintptr_t)block % 128 == 0,
	      "posix_memalign");
	kept = memalign(256, size++);
	check((uintptr_t)kept % 256 == 0, "memalign");
	kept = valloc(size++);
	check((uintptr_t)kept % 4096 == 0, "valloc");
	kept = pvalloc(size++);
	kept = strdup("a string whose size is told by the one byte more that it has");
	free(kept);
	kept = strndup("and of another one the first forty-five characters alone", 45);
	free(kept);
	kept = malloc(0);
	check(kept != NULL, "malloc(0)");
	free(kept);
	free(NULL);
}

static void failures(void)
{
	void *block = (void *)1234, *same;

	errno = 0;
	kept = malloc(SIZE_MAX / 2);
	check(!kept && errno == ENOMEM, "malloc that fails");
	check(posix_memalign(&block, 3, 100) == EINVAL && block == (void *)1234,
	      "posix_memalign that fails leaves the pointer");
	kept = calloc(SIZE_MAX / 2, 4);
	check(!kept, "calloc that overflows");
	kept = reallocarray(NULL, SIZE_MAX / 2, 4);
	check(!kept && errno == ENOMEM, "reallocarray that overflows");
	same = malloc(SIZE);
	memset(same, 7, SIZE);
	kept = realloc(same, SIZE_MAX / 2);
	check(!kept && ((char *)same)[SIZE - 1] == 7, "realloc that fails");
	errno = EDOM;
	free(same);
	kept = malloc(SIZE + 1);
	free(kept);
	check(errno == EDOM, "errno is kept");
}

static void allocate_many(int size, int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile block = malloc(size);

		free(block);
	}
}

static void fork_and_go_on(void)
{
	pid_t child;
	int status;

	allocate_many(SIZE, 100);
	child = fork();
	allocate_many(child ? SIZE : SIZE + 1, MANY);
	if (!child)
		_exit(0);
	check(waitpid(child, &status, 0) == child && status == 0, "the child");
	allocate_many(SIZE + 2, 100);
}

static void *fork_in_thread(void *arg)
{
	int status;

	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (!child) {
			allocate_many(SIZE + 1, 50);
			_exit(0);
		}
		check(waitpid(child, &status, 0) == child && status == 0, "a child");
	}
	*(volatile bool *)arg = true;
	return NULL;
}

/* Forks while other threads allocate: the child must not wait for a lock that they hold. */
static void fork_among_threads(void)
{
	volatile bool is_done = false;
	pthread_t thread;

	pthread_create(&thread, NULL, fork_in_thread, (void *)&is_done);
	while (!is_done)
		allocate_many(SIZE, 100);
	pthread_join(thread, NULL);
}

static void vfork_and_spawn(void)
{
	char *arguments[] = { "/bin/true", NULL };
	pid_t child = vfork();
	int status;

	if (!child) {
		execv(arguments[0], arguments);
		_exit(9);
	}
	check(waitpid(child, &status, 0) == child && status == 0, "vfork");
	check(posix_spawn(&child, arguments[0], NULL, NULL, arguments, environ) == 0,
	      "posix_spawn");
	check(waitpid(child, &status, 0) == child && status == 0, "what was spawned");
	allocate_many(SIZE, 100);
}

/* Creates a child without running pthread_atfork(3) handlers. */
static void raw_clone(void)
{
	pid_t child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	int status;

	allocate_many(child ? SIZE : SIZE + 1, MANY);
	if (!child)
		_exit(0);
	check(waitpid(child, &status, 0) == child && status == 0, "the clone");
}

static void *allocate_and_end(void *arg)
{
	void *volatile block = malloc(SIZE);

	free(block);
	return NULL;
}

/* Starts more threads than there are rings, a few at a time. */
static void threads(void)
{
	pthread_t list[8];

	for (int i = 0; i < 150; i++) {
		for (int k = 0; k < 8; k++)
			check(!pthread_create(&list[k], NULL, allocate_and_end, NULL), "a thread");
		for (int k = 0; k < 8; k++)
			pthread_join(list[k], NULL);
	}
}

static volatile int n_handled;

static void on_signal(int signal)
{
	void *block = malloc(SIZE + 1); /* not async-signal-safe, but done */

	free(block);
	n_handled++;
}

static __attribute__((noinline)) void spin(void)
{
	for (int before = n_handled, i = 0; n_handled < before + 20 && i < 2000000000; i++)
		__asm__ volatile("");
}

/* Interrupts only code outside the allocator, where a handler may call it. */
static void signals(void)
{
	const struct itimerval often = { { 0, 1000 }, { 0, 1000 } };
	stack_t stack = { .ss_sp = malloc(65536), .ss_size = 65536 };
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	spin();
	sigaltstack(&stack, NULL);
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGALRM, &action, NULL);
	spin();
	signal(SIGALRM, SIG_IGN);
}

static int count_descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(directory))
		n++;
	closedir(directory);
	return n - 3; /* ".", "..", the directory's */
}

static void descriptors(void)
{
	allocate_many(SIZE, 100);
	printf("%d descriptors\n", count_descriptors());
	fflush(stdout);
	syscall(SYS_close_range, 0, ~0U, 0);
	allocate_many(SIZE + 1, MANY);
}

/*
 * Maps libraries at the same addresses, one after the other. With deep binding they find the C
 * library's allocator first, not ours.
 */
static void libraries(const char *directory)
{
	char path[4096];

	for (int i = 0; i < 40; i++) {
		void *library, *(*allocate)(size_t);

		snprintf(path, sizeof(path), "%s/libheap-%s.so", directory,
			 i % 2 ? "other" : "one");
		library = dlopen(path, RTLD_NOW | (i < 38 ? 0 : RTLD_DEEPBIND));
		check(library != NULL, dlerror());
		*(void **)&allocate = dlsym(library, "allocate");
		void *volatile block = allocate(SIZE + i % 2);

		free(block);
		dlclose(library);
	}
}

static void die(const char *how)
{
	allocate_many(SIZE, MANY);
	kept = malloc(SIZE + 1);
	if (!strcmp(how, "_exit"))
		_exit(0);
	if (!strcmp(how, "quick_exit"))
		quick_exit(0);
	if (!strcmp(how, "kill"))
		kill(getpid(), SIGKILL);
	if (!strcmp(how, "abort"))
		abort();
	exit(0);
}

static void environment(void)
{
	for (char **variable = environ; *variable; variable++)
		puts(*variable);
	fflush(stdout);
	check(system("env") == 0, "env");
}

/* Allocates at every 100th frame of a stack that grows to `depth` frames. */
static __attribute__((noinline)) void descend(int depth)
{
	if (depth % 100 == 0) {
		void *volatile block = malloc(SIZE);

		free(block);
	}
	if (depth > 0)
		descend(depth - 1);
	__asm__ volatile("");
}

/* Allocates SIZE bytes `n` times, as fast as possible. */
static void flood(const char *n)
{
	allocate_many(SIZE, atoi(n));
	puts("done");
}

/* Allocates for so many seconds; prints how often. */
static void flood_for(const char *seconds)
{
	struct timespec now, end;
	long n = 0;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += atoi(seconds);
	do {
		allocate_many(SIZE, MANY);
		n += MANY;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec ||
		 (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	printf("done %ld\n", n);
}

enum { PAGE = 4096, PAGES = 64 };

static char *map_pages(size_t n)
{
	char *memory =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED, "mmap");
	return memory;
}

/*
 * Effects of mmap(2) and its relatives. Ranges of PAGES each: one stays; one is unmapped; one loses
 * its middle; half of one is mapped over; one grows, and moves for that; one cannot be moved; one
 * cannot be unmapped by half a page.
 */
static void mappings(void)
{
	char *stays = map_pages(PAGES), *goes = map_pages(PAGES), *cut = map_pages(PAGES);
	char *covered = map_pages(PAGES), *grows = map_pages(PAGES), *fails = map_pages(PAGES);
	char *wall;

	check(munmap(goes, PAGES * PAGE) == 0, "munmap");
	check(munmap(cut + 16 * PAGE, 8 * PAGE) == 0, "munmap of the middle");
	check(mmap(covered, 32 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      covered,
	      "MAP_FIXED");
	grows = mremap(grows, PAGES * PAGE, 4 * PAGES * PAGE, MREMAP_MAYMOVE);
	check(grows != MAP_FAILED, "mremap");
	/* Leave no room behind it. */
	wall = mmap(fails + PAGES * PAGE, PAGE, PROT_NONE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	check(wall != MAP_FAILED || errno == EEXIST, "a wall");
	check(mremap(fails, PAGES * PAGE, 2 * PAGES * PAGE, 0) == MAP_FAILED, "mremap that fails");
	check(munmap(stays + 1, PAGE) < 0, "munmap that fails");
	kept = malloc(SIZE);
}

/* A thread names itself, and then loads a library and allocates. */
static void *name_and_allocate(void *arg)
{
	void *library;

	prctl(PR_SET_NAME, arg); /* before its first allocation */
	library = dlopen("libm.so.6", RTLD_NOW);
	allocate_many(SIZE, 1000);
	dlclose(library);
	return NULL;
}

static void names(void)
{
	char *list[] = { "reader", "writer" };
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		check(!pthread_create(&threads[i], NULL, name_and_allocate, list[i]), "a thread");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *way = argv[1], *argument = argc > 2 ? argv[2] : "";

	if (!strcmp(way, "entries"))
		every_entry();
	else if (!strcmp(way, "failures"))
		failures();
	else if (!strcmp(way, "fork"))
		fork_and_go_on();
	else if (!strcmp(way, "fork-among-threads"))
		fork_among_threads();
	else if (!strcmp(way, "spawn"))
		vfork_and_spawn();
	else if (!strcmp(way, "clone"))
		raw_clone();
	else if (!strcmp(way, "threads"))
		threads();
	else if (!strcmp(way, "signals"))
		signals();
	else if (!strcmp(way, "descriptors"))
		descriptors();
	else if (!strcmp(way, "libraries"))
		libraries(argument);
	else if (!strcmp(way, "die"))
		die(argument);
	else if (!strcmp(way, "environment"))
		environment();
	else if (!strcmp(way, "deep"))
		descend(atoi(argument));
	else if (!strcmp(way, "flood"))
		flood(argument);
	else if (!strcmp(way, "flood-for"))
		flood_for(argument);
	else if (!strcmp(way, "mappings"))
		mappings();
	else if (!strcmp(way, "names"))
		names();
	else
		return 8;
	return 0;
}
