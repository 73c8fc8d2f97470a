/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A signal at every single instruction of some functions: wherever a frame is built or torn down,
 * the handler's stack leads through it. (int3 toggles the CPU's single-stepping.)
 *
 * truth: builds signal-steps signal-steps-fp signal-steps-O0
 * truth: chain START main outer LIBC handler WORK
 * truth: chain START main outer stepped LIBC handler WORK
 * truth: chain START main outer stepped (burn|tick) LIBC handler WORK
 * truth: chain START main outer stepped aligned LIBC handler WORK
 * truth: chain START main outer stepped aligned tick LIBC handler WORK
 * truth: chain START main outer stepped with_alloca LIBC handler WORK
 * truth: chain START main outer stepped with_alloca burn LIBC handler WORK
 * truth: chain START main outer stepped tiny@plt LIBC handler WORK
 * truth: chain START main outer stepped tiny LIBC handler WORK
 */
#include <signal.h>
#include <ucontext.h>

#include "truth.h"

enum { TRAP_FLAG = 0x100 };

void tiny(void);

static LINK void handler(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	if (info->si_code != TRAP_TRACE) /* int3 */
		interrupted->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
	spin();
	STAY();
}

static LINK void aligned(size_t size)
{
	__attribute__((aligned(64))) char room[64];
	char *more = __builtin_alloca(size);

	KEEP(room);
	KEEP(more);
	for (int i = 0; i < 4; i++) /* it has few instructions */
		tick();
	STAY();
}

static LINK void with_alloca(size_t size)
{
	char *room = __builtin_alloca(size);

	KEEP(room);
	burn();
	STAY();
}

static LINK void stepped(void)
{
	burn();
	for (int i = 0; i < 4; i++)
		tiny();
	aligned(40);
	with_alloca(100);
	tick();
	STAY();
}

static LINK void outer(void)
{
	__asm__ volatile("int3; nop; nop; nop; nop");
	stepped();
	__asm__ volatile("int3");
}

int main(int argc, char **argv)
{
	const struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	tiny(); /* resolve it now, not while stepping */
	sigaction(SIGTRAP, &action, NULL);
	for (long rounds = rounds_of(argc, argv) / 100 + 1; rounds; rounds--)
		outer();
	return 0;
}
