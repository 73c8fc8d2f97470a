/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heap-stack-stress CALLS [SEED]: four threads make stacks at random, switch to them, allocate
 * there, and unmap, shrink, replace or truncate them, while another thread keeps sending signals
 * whose handlers allocate, too, on any of the stacks. Ends when each thread has allocated a fourth
 * of CALLS; prints how often SIZE and SIZE + 1 (in handlers) were allocated, and exits with 3.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "stack-switch.h"

enum { SIZE = 7001, PAGE = 4096, WORKERS = 4, PAGES_MAX = 32, STACKS = 6, STATUS = 3 };

struct stack {
	char *memory;
	size_t size;
	int fd; /* -1: anonymous memory */
};

/*
 * State of a thread, shared with the threads that it starts, one at a time. A handler does nothing
 * while is_busy: the code is in the allocator, or otherwise not reentrant.
 */
struct worker {
	pthread_t thread;
	uint64_t random, n, n_wanted, n_handled;
	struct stack stacks[STACKS];
	void *above, *below;
	ucontext_t back;
	volatile bool is_busy;
};

static struct worker workers[WORKERS];
static __thread struct worker *me;
static volatile bool is_done;

static void check(bool is_good, const char *what)
{
	if (is_good)
		return;
	dprintf(2, "not so: %s\n", what);
	_exit(9);
}

static uint32_t choose(uint32_t n)
{
	me->random ^= me->random << 13;
	me->random ^= me->random >> 7;
	me->random ^= me->random << 17;
	return (me->random >> 32) % n;
}

static void allocate(int size)
{
	void *volatile block = malloc(size);

	free(block);
}

static void on_signal(int signal)
{
	if (!me || me->is_busy)
		return;
	me->is_busy = true;
	allocate(SIZE + 1);
	me->n_handled++;
	me->is_busy = false;
}

/* Handlers may run before calls and after them. */
static void work(int depth)
{
	volatile char frame[200];

	frame[0] = depth;
	me->is_busy = true;
	allocate(SIZE);
	me->n++;
	me->is_busy = false;
	if (choose(8) == 0)
		raise(SIGUSR1);
	if (depth)
		work(depth - 1);
	frame[1] = frame[0];
}

static void work_some(void)
{
	work(choose(12));
}

static void begin(void)
{
	me->is_busy = false;
	work_some();
	me->is_busy = true;
	switch_stack(&me->below, me->above);
}

static void run_context(const struct stack *stack)
{
	ucontext_t context;

	getcontext(&context);
	context.uc_stack.ss_sp = stack->memory;
	context.uc_stack.ss_size = stack->size;
	context.uc_link = &me->back;
	makecontext(&context, work_some, 0);
	me->is_busy = false;
	swapcontext(&me->back, &context);
	me->is_busy = true;
}

static void on_alternate(int signal)
{
	work_some();
}

static void handle_on(const struct stack *stack)
{
	const stack_t alternate = { .ss_sp = stack->memory, .ss_size = stack->size };
	const stack_t none = { .ss_flags = SS_DISABLE };

	sigaltstack(&alternate, NULL);
	me->is_busy = false;
	raise(SIGUSR2);
	me->is_busy = true;
	sigaltstack(&none, NULL);
}

static void *run_thread(void *arg)
{
	me = arg; /* its creator waits meanwhile */
	work_some();
	me = NULL;
	return NULL;
}

static void start_on(const struct stack *stack)
{
	struct worker *self = me;
	pthread_attr_t attributes;
	pthread_t thread;

	if (stack->size < 8 * PAGE)
		return;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack->memory, stack->size);
	me = NULL; /* else two threads would share it */
	self->is_busy = false;
	check(!pthread_create(&thread, &attributes, run_thread, self), "pthread_create");
	pthread_join(thread, NULL);
	self->is_busy = true;
	me = self;
	pthread_attr_destroy(&attributes);
}

/* Makes a stack without guard pages, so that it lies beside other mappings. */
static void make(struct stack *stack)
{
	size_t size = (4 + choose(PAGES_MAX - 4)) * PAGE;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	stack->fd = -1;
	if (choose(4) == 0) {
		stack->fd = memfd_create("stack", MFD_CLOEXEC);
		check(stack->fd >= 0 && ftruncate(stack->fd, size) == 0, "a file");
		flags = MAP_SHARED;
	}
	stack->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, stack->fd, 0);
	check(stack->memory != MAP_FAILED, "mmap");
	stack->size = size;
}

/* Removes the upper half of a stack. */
static void shrink(struct stack *stack)
{
	size_t left = stack->size / 2 / PAGE * PAGE, size = stack->size - left;
	char *start = stack->memory + left;

	if (left < 4 * PAGE)
		return;
	if (stack->fd >= 0)
		check(ftruncate(stack->fd, left) == 0, "ftruncate");
	else if (choose(3) == 0)
		check(mprotect(start, size, PROT_NONE) == 0, "mprotect");
	else if (choose(3) == 0)
		check(mmap(start, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			   0) == start,
		      "mmap in its place");
	stack->size = left;
	if (choose(2) == 0)
		switch_stack(&me->above, new_stack(start, begin));
	/* New stacks will lie around the rest. */
	check(munmap(start, size) == 0, "munmap");
}

static void drop(struct stack *stack)
{
	if (!stack->memory)
		return;
	munmap(stack->memory, stack->size);
	if (stack->fd >= 0)
		close(stack->fd);
	stack->memory = NULL;
}

static void step(void)
{
	struct stack *stack = &me->stacks[choose(STACKS)];

	if (!stack->memory || choose(8) == 0) {
		drop(stack);
		make(stack);
	}
	if (choose(4) == 0)
		shrink(stack);
	switch (choose(16)) {
	case 0:
		start_on(stack);
		break;
	case 1 ... 4:
		run_context(stack);
		break;
	case 5 ... 8:
		handle_on(stack);
		break;
	default:
		switch_stack(&me->above, new_stack(stack->memory + stack->size, begin));
	}
}

static void *run_worker(void *arg)
{
	me = arg;
	me->is_busy = true;
	while (me->n < me->n_wanted)
		step();
	for (int i = 0; i < STACKS; i++)
		drop(&me->stacks[i]);
	me = NULL;
	return NULL;
}

/* Sends signals to the process, for any thread to take. */
static void *send_signals(void *arg)
{
	while (!is_done) {
		kill(getpid(), SIGUSR1);
		sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000, n_handled = 0, n_all = 0;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t storm;

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = on_alternate;
	action.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR2, &action, NULL);
	for (int i = 0; i < WORKERS; i++) {
		workers[i].random =
			88172645463325252ULL + (seed * WORKERS + i) * 0x9e3779b97f4a7c15ULL;
		workers[i].n_wanted = n / WORKERS;
		check(!pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]),
		      "a worker");
	}
	check(!pthread_create(&storm, NULL, send_signals, NULL), "a storm");
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	is_done = true;
	pthread_join(storm, NULL);
	for (int i = 0; i < WORKERS; i++) {
		n_all += workers[i].n;
		n_handled += workers[i].n_handled;
	}
	printf("%llu allocations, %llu in handlers\n", (unsigned long long)n_all,
	       (unsigned long long)n_handled);
	return STATUS;
}
