/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes by one of two names, left and right: three functions, each at the same place on both
 * sides, with frames that differ. Who takes one side for the other says a wrong name, or unwinds by
 * wrong rules, or both. They need nothing but their own text, so that it can be mapped anywhere.
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
