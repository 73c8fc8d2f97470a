/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A coroutine on a hand-made stack: its function returns to the first instruction of a function
 * that was never called. A third function lies directly before that.
 *
 * truth: chain START main WORK
 * truth: chain finished body WORK
 * truth: aside START main switch_to?
 * truth: aside finished body switch_to?
 * truth: aside body switch_to           # the first switch to it
 * truth: ends no-unwind-info at (finished|body)
 */
#include <stdint.h>

#include "truth.h"

enum { STACK_WORDS = 8192 };

void *switch_to(void **leave, void *enter);
void finished(void);

/* Callee-saved registers are saved on the stack. */
__asm__(".text\n"
	".p2align 4\n"
	".globl switch_to\n"
	".type switch_to, @function\n"
	"switch_to:\n"
	"	.cfi_startproc\n"
	"	push %rbp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rsp, (%rdi)\n"
	"	mov %rsi, %rsp\n"
	"	pop %r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size switch_to, . - switch_to\n"
	".p2align 4\n"
	".type in_front, @function\n"
	"in_front:\n"
	"	.cfi_startproc\n"
	"	sub $40, %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"	.skip 12, 0x90\n"
	"	.cfi_endproc\n"
	"	.size in_front, . - in_front\n"
	".globl finished\n"
	".type finished, @function\n"
	"finished:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	.cfi_endproc\n"
	"	.size finished, . - finished\n");

static uint64_t stack[STACK_WORDS] __attribute__((aligned(16)));
static void *in_main, *in_body;

static LINK void body(void)
{
	for (;;) {
		spin();
		switch_to(&in_body, in_main);
	}
}

int main(int argc, char **argv)
{
	uint64_t *top = stack + STACK_WORDS - 8;

	top[4] = (uintptr_t)finished;
	top[3] = (uintptr_t)body;
	in_body = top;
	for (long rounds = rounds_of(argc, argv); rounds; rounds--) {
		spin();
		switch_to(&in_main, in_body);
	}
	return 0;
}
