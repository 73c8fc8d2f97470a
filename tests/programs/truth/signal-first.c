/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A signal at the very first instruction of a function: that address is exact, and the byte before
 * it belongs to a function with another frame.
 *
 * truth: chain START main outer trap LIBC handler WORK
 * truth: aside START main outer trap LIBC
 */
#include <signal.h>
#include <ucontext.h>

#include "truth.h"

void trap(void);

static LINK void handler(int number, siginfo_t *info, void *context)
{
	spin();
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2; /* behind ud2 */
}

__asm__(".pushsection .text\n"
	".type innocent, @function\n"
	"innocent:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa_offset 64\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size innocent, . - innocent\n"
	".globl trap\n"
	".type trap, @function\n"
	"trap:\n"
	"	.cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size trap, . - trap\n"
	".popsection\n");

static LINK void outer(void)
{
	trap();
	STAY();
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &action, NULL);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
