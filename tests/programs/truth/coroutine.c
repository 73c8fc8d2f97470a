/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that take turns, each on its own stack: the caller is the context's start function,
 * with nothing before it.
 *
 * truth: chain START main WORK
 * truth: chain LIBC left left_turn WORK
 * truth: chain LIBC right WORK
 * truth: ends no-unwind-info at (LIBC|left|right) # return address: start of a function
 * truth: aside LIBC (left|right) left_turn? (LIBC|PLT|LD)+
 * truth: aside START main make? (LIBC|PLT|LD)*
 * truth: aside [coroutine] LIBC                   # the first jump to it
 * truth: ends no-unwind-info at [coroutine]
 */
#include <stdio.h>
#include <ucontext.h>

#include "truth.h"

enum { STACK_SIZE = 65536 };

static ucontext_t in_main, in_left, in_right;

static LINK void left_turn(void)
{
	spin();
	swapcontext(&in_left, &in_right);
	STAY();
}

static LINK void left(void)
{
	for (;;)
		left_turn();
}

static LINK void right(void)
{
	for (;;) {
		spin();
		swapcontext(&in_right, &in_main);
	}
}

static void make(ucontext_t *context, void (*function)(void))
{
	if (getcontext(context) < 0)
		exit(1);
	context->uc_stack.ss_sp = malloc(STACK_SIZE);
	context->uc_stack.ss_size = STACK_SIZE;
	makecontext(context, function, 0);
}

int main(int argc, char **argv)
{
	make(&in_left, left);
	make(&in_right, right);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--) {
		spin();
		swapcontext(&in_main, &in_left);
	}
	return 0;
}
