/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions in one section, which nobody uses: where a linker (gold) leaves their offsets in it as
 * their addresses, the description of the second lies in the code of others.
 */
#include <stdlib.h>

#define FAR __attribute__((noipa))
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN FAR long unused_first(long n)
{
	__asm__ volatile(".fill 1000, 1, 0x90");
	return n;
}

/* Of a frame as large as two of those who call each other. */
HIDDEN FAR long unused_second(long n)
{
	volatile char frame[16];

	frame[0] = n;
	__asm__ volatile(".fill 16384, 1, 0x90");
	if (n == 7)
		abort();
	return frame[0];
}

/* What is used, so that code begins in front of the second. */
__asm__(".section .text.front, \"ax\", @progbits\n"
	".globl front\n"
	".type front, @function\n"
	"front: .fill 2000, 1, 0x90\n"
	"	ret\n"
	".size front, . - front\n"
	".text\n");
