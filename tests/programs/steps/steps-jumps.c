/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that do not return: longjmp() out of several functions, and calls as the last instruction
 * of a function, followed by another function with a different frame.
 */
#include <setjmp.h>
#include <stdlib.h>
#include <unistd.h>

#define LINK __attribute__((noinline, noclone))

static jmp_buf plain;
static sigjmp_buf with_mask;
static volatile int sink;

static LINK int none(int a)
{
	return a + sink;
}

/* No instruction follows its call, not even a return. */
static LINK _Noreturn void jumps(int a)
{
	longjmp(plain, a);
}

/* Follows jumps(), whose call has this function's first instruction as return address. */
static LINK int pushes(int a, int b, int c, int d)
{
	int e = none(a), f = none(b), g = none(c), h = none(d);

	return a + b + c + d + none(e) + none(f) + none(g) + none(h);
}

static LINK _Noreturn void jumps_with_mask(int a)
{
	volatile char memory[200];

	memory[a] = a;
	siglongjmp(with_mask, a + memory[a]);
}

static LINK int frameless(int a)
{
	return a * sink;
}

static LINK int dives(int depth, int way)
{
	if (depth)
		return dives(depth - 1, way) + pushes(1, 2, 3, depth);
	if (way)
		jumps_with_mask(way);
	jumps(1);
}

static LINK _Noreturn void leaves(int status)
{
	_Exit(status);
}

int main(void)
{
	for (volatile int i = 0; i < 3; i++) {
		if (!setjmp(plain))
			sink += dives(i, 0);
		if (!sigsetjmp(with_mask, 1))
			sink += dives(i, i + 1);
		sink += frameless(i);
	}
	leaves(0);
}
