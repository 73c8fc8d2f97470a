/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unused functions in one section: a linker (gold) that drops them leaves their offsets in the
 * section as their addresses, so that the second one's FDE lies over code of others.
 */
#include <stdlib.h>

#define FAR __attribute__((noipa))
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN FAR long unused_first(long n)
{
	__asm__ volatile(".fill 1000, 1, 0x90");
	return n;
}

/* Has a frame as large as the frames of two callers. */
HIDDEN FAR long unused_second(long n)
{
	volatile char frame[16];

	frame[0] = n;
	__asm__ volatile(".fill 16384, 1, 0x90");
	if (n == 7)
		abort();
	return frame[0];
}

/* Used, so that code begins before the second function. */
__asm__(".section .text.front, \"ax\", @progbits\n"
	".globl front\n"
	".type front, @function\n"
	"front: .fill 2000, 1, 0x90\n"
	"	ret\n"
	".size front, . - front\n"
	".text\n");
