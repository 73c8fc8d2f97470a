/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library with unwind information in .debug_frame alone, whose linker drops unused functions, and
 * whose hot loop has no unwind information. The FDE of the dropped function remains, with a
 * meaningless address, and is long enough to cover all other code.
 */
#include <stdlib.h>

#define FAR __attribute__((noipa))
#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN FAR long unused(long n)
{
	volatile char frame[16];

	frame[0] = n;
	__asm__ volatile(".fill 16384, 1, 0x90");
	if (n == 7)
		abort();
	return frame[0];
}

void loop(long n);
__asm__(".section .text.loop, \"ax\", @progbits\n"
	".globl loop\n"
	".hidden loop\n"
	".type loop, @function\n"
	"loop:\n"
	"	push %rbx\n"
	"	mov %rdi, %rbx\n"
	"1:	dec %rbx\n"
	"	jnz 1b\n"
	"	pop %rbx\n"
	"	ret\n"
	".size loop, . - loop\n"
	".text\n");

HIDDEN FAR void innermost(long n)
{
	loop(n);
	__asm__ volatile("");
}

HIDDEN FAR void middle(long n)
{
	innermost(n);
	__asm__ volatile("");
}

FAR void enter(long n)
{
	middle(n);
	__asm__ volatile("");
}
