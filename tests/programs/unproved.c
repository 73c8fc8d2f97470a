/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs code that no file describes, and that keeps frame pointers in part or not at all:
 *
 *	unproved WAY
 *
 * Its callers and callees are C code with frame pointers. WAY is one of `ways` below. With NESTED
 * the only way is a nested function, for which the stack is executable.
 */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define FAR __attribute__((noipa, used)) static
#define STAY() __asm__ volatile("") /* after a call, to prevent a tail call */

enum { MS = 300, LOOPS = 50000, PAGE = 4096, STACK = 1 << 16 };

typedef void code_function(long n, void (*next)(long n), void *more);

/* Counts edi down. */
static const uint8_t bare_loop[] = {
	0xff, 0xcf, 0x75, 0xfc, /* dec edi; jnz */
	0xc3,			/* ret */
};
static const uint8_t framed_call[] = {
	0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
	0xff, 0xd6,		/* call rsi */
	0x5d, 0xc3,		/* pop rbp; ret */
};
static const uint8_t bare_call[] = {
	0x48, 0x83, 0xec, 0x18, /* sub rsp, 24 */
	0xff, 0xd6,		/* call rsi */
	0x48, 0x83, 0xc4, 0x18, /* add rsp, 24 */
	0xc3,			/* ret */
};
/* Holds rdx in the frame pointer during the loop. */
static const uint8_t register_loop[] = {
	0x55, 0x48, 0x89, 0xd5, /* push rbp; mov rbp, rdx */
	0xff, 0xcf, 0x75, 0xfc, /* dec edi; jnz */
	0x5d, 0xc3,		/* pop rbp; ret */
};
/* Calls rsi on a stack whose top is rdx. */
static const uint8_t switching_call[] = {
	0x55, 0x48, 0x89, 0xe5, /* push rbp; mov rbp, rsp */
	0x48, 0x89, 0xd4,	/* mov rsp, rdx */
	0xff, 0xd6,		/* call rsi */
	0x48, 0x89, 0xec,	/* mov rsp, rbp */
	0x5d, 0xc3,		/* pop rbp; ret */
};
/* Calls a frameless loop from a function with a frame. */
static const uint8_t framed_call_of_bare_loop[] = {
	0x55, 0x48, 0x89, 0xe5,	      /* push rbp; mov rbp, rsp */
	0xe8, 0x02, 0x00, 0x00, 0x00, /* call the loop */
	0x5d, 0xc3,		      /* pop rbp; ret */
	0xff, 0xcf, 0x75, 0xfc, 0xc3, /* dec edi; jnz; ret */
};
/* As closures begin: jumps to rsi, leaving nothing on the stack. */
static const uint8_t trampoline[] = { 0x90, 0x90, 0x90, 0x90, 0xff, 0xe6 };

static uint8_t data[PAGE] __attribute__((aligned(PAGE))) = { 0xcc };

FAR void spin(long n)
{
	for (; n > 0; n--)
		STAY();
}

FAR void via(code_function *code, long n, void (*next)(long n), void *more)
{
	code(n, next, more);
	STAY();
}

/* CPU time, so that a busy machine gives as many samples. */
FAR int is_over(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000 > MS;
}

static code_function *put(void *at, const uint8_t *bytes, size_t size)
{
	if (at == MAP_FAILED)
		_exit(1);
	memcpy(at, bytes, size);
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) < 0)
		_exit(1);
	return (code_function *)(uintptr_t)at;
}

static void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

#define MAKE(bytes) put(map(PAGE), bytes, sizeof(bytes))

FAR void run(code_function *code, void (*next)(long n), void *more)
{
	while (!is_over())
		via(code, LOOPS, next, more);
}

extern const char behind_call[];

FAR void decoy(void)
{
	is_over();
	__asm__ volatile(".globl behind_call\nbehind_call:");
}

/* Above what runs lies a frame that looks like that of a callee of decoy(), called by main(). */
FAR void run_register(void)
{
	volatile uintptr_t frame[2];

	frame[0] = (uintptr_t)__builtin_frame_address(0);
	frame[1] = (uintptr_t)behind_call;
	run(MAKE(register_loop), NULL, (void *)frame);
	STAY();
}

FAR void run_leaf(void)
{
	run(MAKE(framed_call_of_bare_loop), NULL, NULL);
	STAY();
}

static code_function *middle;

FAR void to_middle(long n)
{
	middle(n, spin, NULL);
	STAY();
}

FAR void run_middle(void)
{
	middle = MAKE(bare_call);
	run(MAKE(framed_call), to_middle, NULL);
	STAY();
}

FAR void run_trampoline(void)
{
	run(MAKE(trampoline), spin, NULL);
	STAY();
}

FAR void run_memfd(void)
{
	int fd = memfd_create("code", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		_exit(1);
	run(put(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), bare_call,
		sizeof(bare_call)),
	    spin, NULL);
	STAY();
}

FAR void run_data(void)
{
	run(put(data, bare_call, sizeof(bare_call)), spin, NULL);
	STAY();
}

FAR void run_data_leaf(void)
{
	run(put(data, bare_loop, sizeof(bare_loop)), NULL, NULL);
	STAY();
}

FAR void handle(int number)
{
	spin(LOOPS);
	STAY();
}

FAR void run_signal(void)
{
	const struct itimerval interval = { { 0, 4000 }, { 0, 4000 } };

	signal(SIGPROF, handle);
	setitimer(ITIMER_PROF, &interval, NULL);
	run(MAKE(framed_call_of_bare_loop), NULL, NULL);
	STAY();
}

static ucontext_t outside, inside;

FAR void in_fiber(void)
{
	for (;;) {
		via(middle, LOOPS, spin, NULL);
		swapcontext(&inside, &outside);
	}
}

FAR void to_fiber(long n)
{
	spin(n);
	swapcontext(&outside, &inside);
	STAY();
}

FAR void run_fiber(void)
{
	middle = MAKE(framed_call);
	getcontext(&inside);
	inside.uc_stack.ss_sp = map(STACK);
	inside.uc_stack.ss_size = STACK;
	makecontext(&inside, in_fiber, 0);
	run(MAKE(framed_call), to_fiber, NULL);
	STAY();
}

FAR void run_switching(void)
{
	run(MAKE(switching_call), spin, (char *)map(STACK) + STACK);
	STAY();
}

/* Runs a copy of file code at another address. */
FAR void run_copy(void)
{
	uint8_t *text = map(2 * PAGE);
	uintptr_t page = (uintptr_t)spin & -PAGE;

	memcpy(text, (void *)page, 2 * PAGE);
	if (mprotect(text, 2 * PAGE, PROT_READ | PROT_EXEC) < 0)
		_exit(1);
	run(MAKE(framed_call), (__typeof__(&spin))(text + ((uintptr_t)spin - page)), NULL);
	STAY();
}

#ifdef NESTED
FAR void call(void (*function)(long n))
{
	function(10);
	STAY();
}

FAR void run_nested(void)
{
	volatile long sum = 0;

	__attribute__((noinline)) void nested(long n)
	{
		for (; n > 0; n--)
			sum++;
	}

	while (!is_over())
		for (int i = 0; i < 1000; i++)
			call(nested);
}
#endif

static const struct way {
	const char *name;
	void (*run)(void);
} ways[] = {
#ifdef NESTED
	{ "nested", run_nested },
#else
	{ "register", run_register },	  { "leaf", run_leaf },	    { "middle", run_middle },
	{ "trampoline", run_trampoline }, { "memfd", run_memfd },   { "data", run_data },
	{ "data-leaf", run_data_leaf },	  { "signal", run_signal }, { "fiber", run_fiber },
	{ "switching", run_switching },	  { "copy", run_copy },
#endif
};

int main(int argc, char *argv[])
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]))
			continue;
		ways[i].run();
		return 0;
	}
	return 1;
}
