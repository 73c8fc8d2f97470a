/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Works deep down, jumps out, and works again: memory below the stack pointer holds old frames.
 *
 * truth: chain START main outer dive{7} leave WORK
 * truth: chain START main outer WORK
 * truth: aside START main outer LIBC              # setjmp
 * truth: aside START main outer dive{7} leave (LIBC|PLT|LD)+
 */
#include <setjmp.h>

#include "truth.h"

static jmp_buf back;

static LINK void leave(void)
{
	spin();
	longjmp(back, 1);
}

static LINK void dive(int depth)
{
	char room[40];

	KEEP(room);
	if (depth > 1)
		dive(depth - 1);
	else
		leave();
	STAY();
}

static LINK void outer(void)
{
	if (!setjmp(back))
		dive(7);
	spin();
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
