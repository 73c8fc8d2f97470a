/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A signal at the first instruction of a function: the address is exact, and the byte before it
 * belongs to a function with another frame, whose rule leads to decoy() as the end of the stack.
 *
 * truth: chain START main caller trap LIBC handler WORK
 * truth: aside START main caller trap LIBC
 */
#include <signal.h>
#include <ucontext.h>

#include "decoy.h"
#include "truth.h"

void caller(void);

static LINK void handler(int number, siginfo_t *info, void *context)
{
	spin();
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* skip ud2 */
}

__asm__(".pushsection .text\n"
	".type innocent, @function\n"
	"innocent:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 16\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size innocent, . - innocent\n"
	".type trap, @function\n"
	"trap:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size trap, . - trap\n"
	".globl caller\n"
	".type caller, @function\n"
	"caller:\n"
	"	.cfi_startproc\n"
	"	sub $24, %rsp\n"
	"	.cfi_adjust_cfa_offset 24\n"
	"	lea decoy + 1(%rip), %rax\n"
	"	mov %rax, (%rsp)\n"
	"	call trap\n"
	"	add $24, %rsp\n"
	"	.cfi_adjust_cfa_offset -24\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size caller, . - caller\n"
	".popsection\n");

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &action, NULL);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		caller();
	return 0;
}
