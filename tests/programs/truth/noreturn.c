/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call that never returns is the last instruction of its function: the return address belongs to
 * the next function, whose frame differs. Only the byte before it belongs to the caller. The next
 * function's rule leads to decoy(), as the end of a complete stack.
 *
 * truth: chain START main caller leave WORK
 * truth: aside START main caller leave (LIBC|PLT|LD)+   # longjmp
 */
#include <setjmp.h>

#include "decoy.h"
#include "truth.h"

void caller(void);
LINK void leave(void);

static jmp_buf back;

__attribute__((used)) LINK void leave(void)
{
	spin();
	longjmp(back, 1);
}

__asm__(".pushsection .text\n"
	".globl caller\n"
	".type caller, @function\n"
	"caller:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	lea decoy + 1(%rip), %rax\n"
	"	mov %rax, (%rsp)\n"
	"	call leave\n"
	"	.cfi_endproc\n"
	".size caller, . - caller\n"
	".type innocent, @function\n"
	"innocent:\n"
	"	.cfi_startproc\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size innocent, . - innocent\n"
	".popsection\n");

int main(int argc, char **argv)
{
	volatile long rounds = rounds_of(argc, argv);

	setjmp(back);
	if (rounds-- > 0)
		caller();
	return 0;
}
