/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Assembly code without CFI.
 *
 * truth: chain START main outer nocfi_loop
 * truth: chain START main outer nocfi_call WORK
 * truth: ends no-unwind-info at nocfi_loop        # it has no CFI
 * truth: ends no-unwind-info at nocfi_call
 */
#include "truth.h"

void nocfi_loop(void);
void nocfi_call(void (*function)(void));

__asm__(".pushsection .text\n"
	".globl nocfi_loop\n"
	".type nocfi_loop, @function\n"
	"nocfi_loop:\n"
	"	push %rbx\n"
	"	mov $20000, %ebx\n"
	"1:	dec %ebx\n"
	"	jnz 1b\n"
	"	pop %rbx\n"
	"	ret\n"
	".size nocfi_loop, . - nocfi_loop\n"
	".globl nocfi_call\n"
	".type nocfi_call, @function\n"
	"nocfi_call:\n"
	"	sub $40, %rsp\n"
	"	call *%rdi\n"
	"	add $40, %rsp\n"
	"	ret\n"
	".size nocfi_call, . - nocfi_call\n"
	".popsection\n");

static LINK void outer(void)
{
	nocfi_loop();
	nocfi_call(spin);
	STAY();
}

int main(int argc, char **argv)
{
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
