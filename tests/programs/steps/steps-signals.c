/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signal handlers: for a sent signal, nested, on an alternate stack, and for a fault at the first
 * instruction of a function, where the byte before belongs to another function.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#define LINK __attribute__((noinline, noclone))

enum { UD2_SIZE = 2, OWN_STACK = 16384 };

static volatile int sink;
static sigjmp_buf out;
static char own_stack[OWN_STACK];

static LINK int work(int a)
{
	volatile char memory[64];

	memory[a & 63] = a;
	return memory[a & 63] + sink;
}

static void inner(int number)
{
	sink += work(number);
}

static void outer(int number)
{
	sink += work(number);
	raise(SIGUSR2);
	sink += work(number);
}

/* Continues after the faulting instruction. */
static void skip(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	sink += work(number);
	interrupted->uc_mcontext.gregs[REG_RIP] += UD2_SIZE;
}

static void leave(int number)
{
	sink += work(number);
	siglongjmp(out, 1);
}

/* The instruction before belongs to another function with another frame. */
void fails_at_once(void);
__asm__(".text\n"
	".type pushes_before, @function\n"
	"pushes_before:\n"
	".cfi_startproc\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	"push %rbp\n"
	".cfi_adjust_cfa_offset 8\n"
	"ud2\n"
	".cfi_endproc\n"
	".size pushes_before, . - pushes_before\n"
	".type fails_at_once, @function\n"
	"fails_at_once:\n"
	".cfi_startproc\n"
	"ud2\n"
	"push %rbx\n"
	".cfi_adjust_cfa_offset 8\n"
	".cfi_offset rbx, -16\n"
	"ud2\n" /* where the rule has just changed */
	"pop %rbx\n"
	".cfi_adjust_cfa_offset -8\n"
	".cfi_restore rbx\n"
	"ud2\n"
	"ret\n"
	".cfi_endproc\n"
	".size fails_at_once, . - fails_at_once\n");

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(number, &action, NULL);
}

static LINK void send(int number)
{
	raise(number);
	sink += work(number);
}

static LINK void fail(void)
{
	fails_at_once();
	sink += work(1);
}

int main(void)
{
	const stack_t own = { .ss_sp = own_stack, .ss_size = sizeof(own_stack) };
	struct sigaction skipping = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };

	sigaltstack(&own, NULL);
	handle(SIGUSR2, inner, 0);
	handle(SIGUSR1, outer, 0);
	send(SIGUSR1);
	handle(SIGUSR1, outer, SA_ONSTACK); /* and nested, on the same stack */
	send(SIGUSR1);
	handle(SIGUSR2, inner, SA_ONSTACK);
	send(SIGUSR1);
	sigaction(SIGILL, &skipping, NULL);
	fail();
	skipping.sa_flags |= SA_ONSTACK;
	sigaction(SIGILL, &skipping, NULL);
	fail();
	handle(SIGUSR1, leave, 0);
	if (!sigsetjmp(out, 1))
		send(SIGUSR1);
	handle(SIGUSR1, leave, SA_ONSTACK);
	if (!sigsetjmp(out, 1))
		send(SIGUSR1);
	sink += work(3);
	return 0;
}
