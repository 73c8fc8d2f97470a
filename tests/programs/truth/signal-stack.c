/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A handler on an alternate stack, which holds the interrupted registers; the stack that they point
 * to is not captured: the interrupted function is the last known one.
 *
 * truth: chain START main outer interrupted LIBC handler WORK
 * truth: ends stack-truncated at interrupted      # one stack is captured, not two
 * truth: aside START main outer interrupted LIBC
 */
#include <signal.h>

#include "truth.h"

static char stack_of_handler[65536];
void interrupted(void);

__asm__(".pushsection .text\n"
	".globl interrupted\n"
	".type interrupted, @function\n"
	"interrupted:\n"
	"	.cfi_startproc\n"
	"	sub $40, %rsp\n"
	"	.cfi_adjust_cfa_offset 40\n"
	"	int3\n"
	"	add $40, %rsp\n"
	"	.cfi_adjust_cfa_offset -40\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size interrupted, . - interrupted\n"
	".popsection\n");

static LINK void handler(int number)
{
	spin();
	STAY();
}

static LINK void outer(void)
{
	interrupted();
	STAY();
}

int main(int argc, char **argv)
{
	const stack_t stack = { .ss_sp = stack_of_handler, .ss_size = sizeof(stack_of_handler) };
	const struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };

	sigaltstack(&stack, NULL);
	sigaction(SIGTRAP, &action, NULL);
	for (long rounds = rounds_of(argc, argv); rounds; rounds--)
		outer();
	return 0;
}
