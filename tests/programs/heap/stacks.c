/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-stacks WAY: stacks that a program makes, and memory above them that does not stay. In each
 * way something runs on a large stack and allocates, at the bottom of it, too; then the upper part
 * of that memory goes, and something runs on what is left. It says how often it has allocated SIZE
 * bytes, and exits with 3 if all went as it should.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "stack-switch.h"

enum {
	SIZE = 7001,
	PAGE = 4096,
	ALL = 64 * PAGE,
	LEFT = 56 * PAGE, /* of it */
	DEPTH = 24,
	ROUNDS = 20,
	THREADS = 200, /* more than there are rings */
	STATUS = 3,
};

static volatile unsigned n_allocated;

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	dprintf(2, "not so: %s\n", what);
	_exit(9);
}

static void allocate(void)
{
	__atomic_fetch_add(&n_allocated, 1, __ATOMIC_RELAXED);
	void *volatile block = malloc(SIZE);

	free(block);
}

static void descend(int depth)
{
	volatile char frame[2048];

	frame[0] = depth;
	allocate();
	if (depth)
		descend(depth - 1);
	frame[1] = frame[0];
}

static void on_signal(int signal)
{
	allocate();
}

/* Behind a signal the walk does not go on. */
static void interrupt_and_descend(void)
{
	raise(SIGUSR1);
	descend(DEPTH);
	raise(SIGUSR1);
}

static void *above, *below; /* stack pointers of who waits */
static void (*job)(void);

static void begin(void)
{
	job();
	switch_stack(&below, above);
}

static void run_on(char *top, void (*function)(void))
{
	job = function;
	switch_stack(&above, new_stack(top, begin));
}

static void descend_all(void)
{
	descend(DEPTH);
}

static char *map_anonymous(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(memory != MAP_FAILED, "mmap");
	return memory;
}

/* How the upper part of a stack's memory goes. */

static void unmap(char *start, size_t size)
{
	check(munmap(start, size) == 0, "munmap");
}

/* Not by way of any function of the C library that we may stand in front of. */
static void unmap_by_itself(char *start, size_t size)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_munmap), "D"(start), "S"(size)
			 : "rcx", "r11", "memory");
	check(result == 0, "munmap without libc");
}

static void protect(char *start, size_t size)
{
	check(mprotect(start, size, PROT_NONE) == 0, "mprotect");
}

static void replace(char *start, size_t size)
{
	check(mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start,
	      "mmap in its place");
}

static void move(char *start, size_t size)
{
	char *elsewhere = map_anonymous(size);

	check(mremap(start, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere) == elsewhere,
	      "mremap");
	check(munmap(elsewhere, size) == 0, "munmap of what was moved");
}

/* By assembler. */
static void lose(void (*go)(char *start, size_t size))
{
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		run_on(memory + ALL, descend_all);
		go(memory + LEFT, ALL - LEFT);
		run_on(memory + LEFT, descend_all);
		munmap(memory, ALL);
	}
}

/* A file that is cut: SIGBUS. */
static void truncated(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		int fd = memfd_create("stack", MFD_CLOEXEC);
		char *memory;

		check(fd >= 0 && ftruncate(fd, ALL) == 0, "a file");
		memory = mmap(NULL, ALL, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		check(memory != MAP_FAILED, "mmap of a file");
		run_on(memory + ALL, descend_all);
		check(ftruncate(fd, LEFT) == 0, "ftruncate");
		run_on(memory + LEFT, descend_all);
		munmap(memory, ALL);
		close(fd);
	}
}

/* What lies above a stack was never a part of it. */
static void neighbour(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		run_on(memory + LEFT, allocate);
		munmap(memory + LEFT, ALL - LEFT);
		run_on(memory + LEFT, allocate);
		munmap(memory, LEFT);
	}
}

static volatile bool is_done;

static void *come_and_go(void *arg)
{
	while (!is_done) {
		char *memory = mmap(arg, ALL - LEFT, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

		check(memory == arg, "mmap of the neighbour");
		memory[0] = 1;
		munmap(memory, ALL - LEFT);
	}
	return NULL;
}

static void allocate_often(void)
{
	for (int i = 0; i < 5000; i++)
		allocate();
}

/* The same while it is looked at. */
static void neighbour_of_thread(void)
{
	char *memory = map_anonymous(ALL);
	pthread_t thread;

	check(!pthread_create(&thread, NULL, come_and_go, memory + LEFT), "a thread");
	run_on(memory + LEFT, allocate_often);
	is_done = true;
	pthread_join(thread, NULL);
}

static void run_context(char *memory, size_t size)
{
	ucontext_t back, context;

	check(getcontext(&context) == 0, "getcontext");
	context.uc_stack.ss_sp = memory;
	context.uc_stack.ss_size = size;
	context.uc_link = &back;
	makecontext(&context, interrupt_and_descend, 0);
	check(swapcontext(&back, &context) == 0, "swapcontext");
}

static void contexts(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		run_context(memory, ALL);
		munmap(memory + LEFT, ALL - LEFT);
		run_context(memory, LEFT);
		munmap(memory, LEFT);
	}
}

static void on_signal_descend(int signal)
{
	descend(DEPTH);
}

static void handle_on(char *memory, size_t size)
{
	const stack_t stack = { .ss_sp = memory, .ss_size = size };

	check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
	raise(SIGUSR2);
}

static void alternate(void)
{
	const stack_t none = { .ss_flags = SS_DISABLE };

	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		handle_on(memory, ALL);
		munmap(memory + LEFT, ALL - LEFT);
		handle_on(memory, LEFT);
		check(sigaltstack(&none, NULL) == 0, "no sigaltstack");
		munmap(memory, LEFT);
	}
}

static int run_cloned(void *arg)
{
	interrupt_and_descend();
	syscall(SYS_exit, 0);
	return 0;
}

/* It borrows memory, thread pointer and all; its parent sleeps meanwhile. */
static void clone_on(char *memory, size_t size)
{
	pid_t child = clone(run_cloned, memory + size, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	int status;

	check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "clone");
}

static void cloned(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		clone_on(memory, ALL);
		munmap(memory + LEFT, ALL - LEFT);
		clone_on(memory, LEFT);
		munmap(memory, LEFT);
	}
}

static void *run_thread(void *arg)
{
	interrupt_and_descend();
	return NULL;
}

static void start_on(char *memory, size_t size)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	check(!pthread_attr_setstack(&attributes, memory, size), "pthread_attr_setstack");
	check(!pthread_create(&thread, &attributes, run_thread, NULL), "a thread");
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

/* Threads on memory of their program's: a few hundred on all of it, then on what is left. */
static void setstack(void)
{
	char *memory = map_anonymous(ALL);

	for (int i = 0; i < THREADS; i++)
		start_on(memory, ALL);
	munmap(memory + LEFT, ALL - LEFT);
	for (int i = 0; i < THREADS; i++)
		start_on(memory, LEFT);
}

/* Stacks that are a part of a thread's own, with a page between that nobody may touch. */
static void *carve(void *arg)
{
	char room[ALL + PAGE], *memory = (char *)(((uintptr_t)room + PAGE - 1) & -(uintptr_t)PAGE);

	run_on(memory + ALL, descend_all);
	protect(memory + LEFT, PAGE);
	run_on(memory + LEFT, descend_all);
	check(mprotect(memory + LEFT, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect back");
	return NULL;
}

static void carved(void)
{
	pthread_t thread;

	for (int i = 0; i < ROUNDS; i++) {
		check(!pthread_create(&thread, NULL, carve, NULL), "a thread");
		pthread_join(thread, NULL);
	}
}

/*
 * Code of a compiler at run time that has something else in the frame pointer: an address in what
 * was there.
 */
static void (*call_with)(void *fp, void (*function)(void));
static char *was_there;

static void call_code(void)
{
	call_with(was_there, allocate);
}

static void frame_pointer(void)
{
	/* push %rbp; mov %rdi, %rbp; call *%rsi; pop %rbp; ret */
	const unsigned char code[] = { 0x55, 0x48, 0x89, 0xfd, 0xff, 0xd6, 0x5d, 0xc3 };
	void *place = map_anonymous(PAGE);

	memcpy(place, code, sizeof(code));
	check(mprotect(place, PAGE, PROT_READ | PROT_EXEC) == 0, "mprotect of code");
	memcpy(&call_with, &place, sizeof(place));
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		was_there = memory + ALL - PAGE;
		run_on(memory + ALL, descend_all);
		munmap(memory + LEFT, ALL - LEFT);
		run_on(memory + LEFT, call_code);
		munmap(memory, LEFT);
	}
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = on_signal_descend;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	if (!strcmp(way, "unmapped"))
		lose(unmap);
	else if (!strcmp(way, "unmapped-without-libc"))
		lose(unmap_by_itself);
	else if (!strcmp(way, "protected"))
		lose(protect);
	else if (!strcmp(way, "replaced"))
		lose(replace);
	else if (!strcmp(way, "moved"))
		lose(move);
	else if (!strcmp(way, "truncated"))
		truncated();
	else if (!strcmp(way, "neighbour"))
		neighbour();
	else if (!strcmp(way, "neighbour-of-thread"))
		neighbour_of_thread();
	else if (!strcmp(way, "contexts"))
		contexts();
	else if (!strcmp(way, "alternate"))
		alternate();
	else if (!strcmp(way, "cloned"))
		cloned();
	else if (!strcmp(way, "setstack"))
		setstack();
	else if (!strcmp(way, "carved"))
		carved();
	else if (!strcmp(way, "frame-pointer"))
		frame_pointer();
	else
		return 8;
	printf("%u allocations\n", n_allocated);
	return STATUS;
}
