/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs of known stacks share. Each takes how many rounds of work to do, and says in
 * its first comment which chains of calls are true of it: tests/truth/truths.py has the grammar.
 */
#pragma once

#include <stdlib.h>

/* A function that stays one: not inlined, not copied, nothing of it known to its callers. */
#if __has_attribute(noipa)
#define LINK __attribute__((noipa, unused))
#else
#define LINK __attribute__((noinline, unused))
#endif

/* Behind a call: as the last thing of a function, it would become a jump. */
#define STAY() __asm__ volatile("")

/* Memory that somebody may look at, so that it is really there. */
#define KEEP(memory) __asm__ volatile("" : : "r"(memory) : "memory")

static LINK void tick(void)
{
	STAY();
}

/* Mostly prologue and epilogue: they are where the unwind information changes. */
static LINK void burn(void)
{
	__asm__ volatile("" : : : "rbx", "r12", "r13", "r14", "r15");
}

/* One round: tens of microseconds. */
static LINK void spin(void)
{
	for (int i = 0; i < 10000; i++) {
		tick();
		burn();
	}
}

/* The first argument, and at least one. */
static inline long rounds_of(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0;

	return rounds > 0 ? rounds : 1;
}
