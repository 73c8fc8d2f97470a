/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One of two sides, left and right: three functions, at the same addresses on both sides, but with
 * different frames. Mistaking one side for the other gives wrong names, wrong unwind rules, or
 * both. The functions need nothing but their own text, so that it can be mapped anywhere.
 */
#pragma once

#include "truth.h"

#define PASTE(a, b) a##b
#define NAMED(side, what) PASTE(side, what)
#define PART __attribute__((noinline, noclone, aligned(4096), visibility("protected")))

#define spin_of NAMED(SIDE, _spin)
#define outer_of NAMED(SIDE, _outer)
#define enter_of NAMED(SIDE, _enter)

void spin_of(void);
void outer_of(void);
void enter_of(long rounds);

PART void spin_of(void)
{
	volatile long room[FRAME / 16];

	for (room[0] = 0; room[0] < 10000; room[0]++)
		;
}

PART void outer_of(void)
{
	char room[FRAME];

	KEEP(room);
	spin_of();
	STAY();
}

PART void enter_of(long rounds)
{
	char room[2 * FRAME];

	KEEP(room);
	for (; rounds > 0; rounds--)
		outer_of();
	STAY();
}
