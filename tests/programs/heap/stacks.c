/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-stacks WAY: stacks that a program makes, with memory above them that disappears. In each way
 * something allocates on a large stack, also at its bottom; then the upper part of that memory is
 * removed, and something runs on the rest. Prints how often it allocated SIZE bytes, and exits with
 * 3 if all went well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	LEFT = 56 * PAGE, /* remains */
	DEPTH = 24,
	ROUNDS = 20,
	THREADS = 200, /* more than rings */
	STATUS = 3,
	NOT_HERE = 77,
	PATIENCE_S = 60,
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

/* The walk cannot pass a signal frame. */
static void interrupt_and_descend(void)
{
	raise(SIGUSR1);
	descend(DEPTH);
	raise(SIGUSR1);
}

static void *above, *below; /* saved stack pointers */
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

/* Ways to remove the upper part of a stack. */

static void unmap(char *start, size_t size)
{
	check(munmap(start, size) == 0, "munmap");
}

/* Without any C library function that could be interposed. */
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

/* On stacks switched to by assembly code. */
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

/* The stack is in a file that is truncated: reads give SIGBUS. */
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

/* The memory above the stack never belonged to it. */
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

/* The memory above comes and goes during the walk. */
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

/* The child borrows memory and thread pointer; its parent sleeps meanwhile. */
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

/* Threads on stacks given by the program: many on all of it, then on what is left. */
static void setstack(void)
{
	char *memory = map_anonymous(ALL);

	for (int i = 0; i < THREADS; i++)
		start_on(memory, ALL);
	munmap(memory + LEFT, ALL - LEFT);
	for (int i = 0; i < THREADS; i++)
		start_on(memory, LEFT);
}

/* JIT code that uses the frame pointer for something else: an address in the removed part. */
static void (*call_with)(void *fp, void (*function)(void));
static char *was_there;

static void call_code(void)
{
	call_with(was_there, allocate);
}

static void make_code(void)
{
	/* push %rbp; mov %rdi, %rbp; call *%rsi; pop %rbp; ret */
	const unsigned char code[] = { 0x55, 0x48, 0x89, 0xfd, 0xff, 0xd6, 0x5d, 0xc3 };
	void *place = map_anonymous(PAGE);

	memcpy(place, code, sizeof(code));
	check(mprotect(place, PAGE, PROT_READ | PROT_EXEC) == 0, "mprotect of code");
	memcpy(&call_with, &place, sizeof(place));
}

static void protect_by_key(char *start, size_t size)
{
	check(pkey_mprotect(start, size, PROT_NONE, -1) == 0, "pkey_mprotect");
}

/* Sets a guard page that maps does not show (madvise(2), Linux 6.13); false: no kernel support. */
static bool set_guard(char *start, size_t size)
{
	enum { GUARD_INSTALL = 102 };

	return madvise(start, size, GUARD_INSTALL) == 0;
}

static void remove_guard(char *start, size_t size)
{
	enum { GUARD_REMOVE = 103 };

	madvise(start, size, GUARD_REMOVE);
}

static void guard(char *start, size_t size)
{
	if (!set_guard(start, size))
		protect(start, size);
}

static void *protect_page(void *page)
{
	protect(page, PAGE);
	return NULL;
}

static void protect_by_another(char *start, size_t size)
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, protect_page, start), "another thread");
	pthread_join(thread, NULL);
}

static void (*take_page)(char *start, size_t size);

/* Uses a part of a thread's own stack, with an inaccessible page above it. */
static void *carve(void *arg)
{
	char room[ALL + PAGE], *memory = (char *)(((uintptr_t)room + PAGE - 1) & -(uintptr_t)PAGE);

	run_on(memory + ALL, descend_all);
	take_page(memory + LEFT, PAGE);
	run_on(memory + LEFT, descend_all);
	was_there = memory + LEFT;
	run_on(memory + LEFT, call_code);
	check(mprotect(memory + LEFT, PAGE, PROT_READ | PROT_WRITE) == 0, "mprotect back");
	remove_guard(memory + LEFT, PAGE);
	return NULL;
}

static void carve_threads(void (*take)(char *start, size_t size))
{
	pthread_t thread;

	take_page = take;
	make_code();
	for (int i = 0; i < ROUNDS; i++) {
		check(!pthread_create(&thread, NULL, carve, NULL), "a thread");
		pthread_join(thread, NULL);
	}
}

static void carve_first(void (*take)(char *start, size_t size))
{
	take_page = take;
	make_code();
	for (int i = 0; i < ROUNDS; i++)
		carve(NULL);
}

/* Stacks that grow automatically (mmap(2)): memory above one never belonged to it. */
static void growing(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *room = map_anonymous(ALL * 8), *memory = room + ALL * 7;

		unmap(room, ALL * 8);
		check(mmap(memory, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_FIXED_NOREPLACE, -1,
			   0) == memory,
		      "mmap of what grows");
		run_on(memory + PAGE, descend_all);
		munmap(room, ALL * 8);
	}
}

/* The child borrows memory and thread pointer, too, but runs beside its waiting parent. */
static void clone_beside(char *memory, size_t size)
{
	pid_t child = clone(run_cloned, memory + size, CLONE_VM | CLONE_FS | SIGCHLD, NULL);
	int status;

	check(child > 0, "clone");
	while (waitpid(child, &status, 0) != child)
		;
	check(status == 0, "clone's status");
}

static void cloned_beside(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		clone_beside(memory, ALL);
		unmap_by_itself(memory + LEFT, ALL - LEFT);
		clone_beside(memory, LEFT);
		munmap(memory, LEFT);
	}
}

static char *handled_stack;
static sem_t has_come, may_go;

/* The interrupted stack is unmapped meanwhile; the handler's own stack stays. */
static void on_signal_wait(int signal)
{
	sem_post(&has_come);
	while (sem_wait(&may_go) < 0)
		;
	descend(DEPTH);
	syscall(SYS_exit, 0); /* the interrupted stack is gone */
}

static void wait_for_signal(void)
{
	raise(SIGUSR2);
}

static void *run_interrupted(void *arg)
{
	const stack_t stack = { .ss_sp = arg, .ss_size = ALL };

	check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
	run_on(handled_stack + ALL, wait_for_signal);
	return NULL;
}

static void interrupted(void)
{
	struct sigaction action = { .sa_handler = on_signal_wait, .sa_flags = SA_ONSTACK };

	sigaction(SIGUSR2, &action, NULL);
	sem_init(&has_come, 0, 0);
	sem_init(&may_go, 0, 0);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;

		handled_stack = map_anonymous(ALL);
		check(!pthread_create(&thread, NULL, run_interrupted, map_anonymous(ALL)),
		      "a thread");
		sem_wait(&has_come);
		unmap(handled_stack, ALL);
		sem_post(&may_go);
		pthread_join(thread, NULL);
	}
}

static void frame_pointer(void)
{
	make_code();
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);

		was_there = memory + ALL - PAGE;
		run_on(memory + ALL, descend_all);
		munmap(memory + LEFT, ALL - LEFT);
		run_on(memory + LEFT, call_code);
		munmap(memory, LEFT);
	}
}

/* Stacks within the room that the kernel keeps for the first one, directly adjacent to it. */
static void hinted(void)
{
	enum { BELOW_FIRST = 16 << 20 };
	char *near = (char *)((uintptr_t)__builtin_frame_address(0) / PAGE * PAGE - BELOW_FIRST);

	make_code();
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = mmap(near, LEFT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		check(memory == near, "mmap near the first stack");
		was_there = memory + ALL;
		run_on(memory + LEFT, call_code);
		unmap_by_itself(memory, LEFT);
	}
}

/*
 * Memory above a stack whose pages userfaultfd(2) must provide: a thread that reads them would wait
 * for this one forever.
 */
static void provided(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	alarm(PATIENCE_S);
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0)
		exit(NOT_HERE);
	for (int i = 0; i < ROUNDS; i++) {
		char *memory = map_anonymous(ALL);
		struct uffdio_register all = {
			.range = { (uintptr_t)memory + LEFT, ALL - LEFT },
			.mode = UFFDIO_REGISTER_MODE_MISSING,
		};

		check(ioctl(fd, UFFDIO_REGISTER, &all) == 0, "what is to be provided");
		run_on(memory + LEFT, descend_all);
		munmap(memory, ALL);
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
		carve_threads(protect);
	else if (!strcmp(way, "carved-by-another"))
		carve_threads(protect_by_another);
	else if (!strcmp(way, "carved-by-key"))
		carve_threads(protect_by_key);
	else if (!strcmp(way, "carved-by-guard"))
		carve_threads(guard);
	else if (!strcmp(way, "carved-first"))
		carve_first(protect_by_another);
	else if (!strcmp(way, "carved-first-by-guard"))
		carve_first(guard);
	else if (!strcmp(way, "growing"))
		growing();
	else if (!strcmp(way, "cloned-beside"))
		cloned_beside();
	else if (!strcmp(way, "interrupted"))
		interrupted();
	else if (!strcmp(way, "hinted"))
		hinted();
	else if (!strcmp(way, "provided"))
		provided();
	else if (!strcmp(way, "frame-pointer"))
		frame_pointer();
	else
		return 8;
	printf("%u allocations\n", n_allocated);
	return STATUS;
}
