/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions with different frames, without a library: compiled for any architecture to examine
 * their unwind information. They are never run.
 */
#include <stddef.h>

#define NO_INLINE __attribute__((noinline))

volatile int sink;
void use(void *memory);
int twist(int a);

NO_INLINE int leaf(int a, int b)
{
	return a * b + sink;
}

/* Enough locals in memory to need a frame, but no calls. */
NO_INLINE int leaf_with_frame(int a)
{
	volatile int numbers[12];

	for (int i = 0; i < 12; i++)
		numbers[i] = a + i;
	return numbers[a & 7];
}

NO_INLINE int non_leaf(int a)
{
	return leaf(a, 2) + twist(a) + leaf(a, 4);
}

/* More values than fit in caller-saved registers. */
NO_INLINE int many_saved(int a, int b, int c, int d)
{
	int e = twist(a), f = twist(b), g = twist(c), h = twist(d), i = twist(e), j = twist(f);

	return a + b + c + d + e + f + g + h + i + j + twist(a ^ j);
}

NO_INLINE double saved_floats(double a, double b)
{
	sink = twist(sink);
	a = a * b + sink;
	sink = twist(sink);
	return a + b;
}

NO_INLINE int big_frame(int a)
{
	char memory[5000];

	use(memory);
	return memory[a & 1023] + twist(a);
}

/* Beyond what one instruction can subtract, on any architecture. */
NO_INLINE int huge_frame(int a)
{
	char memory[3000000];

	use(memory);
	return memory[a & 1023];
}

NO_INLINE int with_alloca(size_t n)
{
	char *memory = __builtin_alloca(n);

	use(memory);
	return memory[n / 2] + twist(n);
}

/* The stack pointer is rounded: the CFA must be computed from saved values. */
NO_INLINE int aligned(size_t n)
{
	__attribute__((aligned(128))) char memory[256];
	char *more = __builtin_alloca(n);

	use(memory);
	use(more);
	return memory[n & 15] + more[n / 2];
}

/* Several exits: the frame exists again after each of them. */
NO_INLINE int early_exits(int a)
{
	if (a == 1)
		return 7;
	a = twist(a);
	if (a == 2)
		return leaf(a, a);
	a += twist(a);
	if (a == 3)
		__builtin_trap();
	return many_saved(a, 1, 2, 3);
}

NO_INLINE int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	return a + twist(b) + c + d + e + twist(f) + g + h + i + j;
}

NO_INLINE int passes_many_arguments(int a)
{
	return many_arguments(a, a, a, a, a, a, a, a, a, a) +
	       many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, a);
}

NO_INLINE _Noreturn void never_returns(int a)
{
	for (;;)
		twist(a);
}
