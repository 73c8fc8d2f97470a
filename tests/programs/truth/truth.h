/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the programs with known stacks. Each takes a number of rounds of work, and its first
 * comment states its true chains of calls: tests/truth/truths.py has the grammar.
 */
#pragma once

#include <stdlib.h>

/* A function that remains one: not inlined, cloned or analyzed for its callers. */
#if __has_attribute(noipa)
#define LINK __attribute__((noipa, unused))
#else
#define LINK __attribute__((noinline, unused))
#endif

/* After a call: prevents a tail call. */
#define STAY() __asm__ volatile("")

/* Keeps memory from being optimized away. */
#define KEEP(memory) __asm__ volatile("" : : "r"(memory) : "memory")

static LINK void tick(void)
{
	STAY();
}

/* Mostly prologue and epilogue, where the unwind information changes. */
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

/* The first argument, at least 1. */
static inline long rounds_of(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 0;

	return rounds > 0 ? rounds : 1;
}
