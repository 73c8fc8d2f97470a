/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs each kind of frame once: to be single-stepped, compiled in many ways. Uses nothing of the C
 * library, so that most instructions are its own.
 */
#include <stddef.h>
#include <string.h>

#define LINK __attribute__((noinline, noclone))

static volatile int sink;

static LINK void use(void *memory, size_t size)
{
	for (size_t i = 0; i < size; i += size / 2)
		((volatile char *)memory)[i] = i;
}

static LINK int leaf(int a, int b)
{
	return a * b + sink;
}

/* Locals below the stack pointer: a leaf function needs no frame for them. */
static LINK int red_zone(int a)
{
	volatile int numbers[12];

	for (int i = 0; i < 12; i++)
		numbers[i] = a + i;
	return numbers[a & 7];
}

/* More values than fit in caller-saved registers: all callee-saved ones are pushed. */
static LINK int many_saved(int a, int b, int c, int d)
{
	int e = leaf(a, b), f = leaf(b, c), g = leaf(c, d), h = leaf(d, e);

	return a + b + c + d + e + f + g + h + leaf(e, f) + leaf(g, h);
}

static LINK int big_frame(int a)
{
	char memory[5000];

	use(memory, sizeof(memory));
	return memory[a & 1023] + leaf(a, 3);
}

static LINK int with_alloca(size_t n)
{
	char *memory = __builtin_alloca(n);

	use(memory, n);
	return memory[n / 2] + leaf(n, 5);
}

static LINK int with_array(size_t n)
{
	int numbers[n];

	use(numbers, sizeof(numbers));
	for (size_t i = 0; i < 3; i++) {
		char more[n + i];

		use(more, sizeof(more));
	}
	return numbers[n / 2];
}

static LINK int aligned(int a)
{
	__attribute__((aligned(64))) char memory[256];

	use(memory, sizeof(memory));
	return memory[a & 255] + leaf(a, 7);
}

/* The CFA is kept in a register of its own (DRAP). */
static LINK int aligned_with_alloca(size_t n)
{
	__attribute__((aligned(128))) char memory[256];
	char *more = __builtin_alloca(n);

	use(memory, sizeof(memory));
	use(more, n);
	return memory[n & 255] + more[n / 2];
}

static LINK __attribute__((force_align_arg_pointer)) int aligns_itself(int a, int b)
{
	char memory[64];

	use(memory, sizeof(memory));
	return memory[a & 63] + leaf(a, b);
}

typedef double vector __attribute__((vector_size(32)));

static LINK vector vectors(vector a, vector b)
{
	vector kept = a * b;

	use(&kept, sizeof(kept));
	return kept + a;
}

/* Several exits, the first without a frame. */
static LINK int early_exits(int a)
{
	if (a == 1)
		return 7;
	a = leaf(a, a);
	if (a == 4)
		return many_saved(a, a, 1, 2);
	a += big_frame(a);
	return many_saved(a, 1, 2, 3);
}

static LINK int many_arguments(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j)
{
	return a + leaf(b, c) + d + e + f + leaf(g, h) + i + j;
}

static LINK int passes_many_arguments(int a)
{
	return many_arguments(a, a, a, a, a, a, a, a, a, a) +
	       many_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, a);
}

struct large {
	long numbers[20];
};

static LINK struct large passes_large(struct large large, int a)
{
	large.numbers[a & 15] += leaf(a, a);
	return large;
}

/* Tail calls, if optimized. */
static LINK int tail(int a)
{
	return leaf(a, 9);
}

static LINK int tail_of_tail(int a)
{
	sink += leaf(a, 8);
	return tail(a + 1);
}

static LINK int through_pointer(int (*function)(int), int a)
{
	return function(a) + 1;
}

static LINK int tail_through_pointer(int (*function)(int), int a)
{
	sink++;
	return function(a);
}

static LINK int recursive(int depth)
{
	return depth ? recursive(depth - 1) + leaf(depth, 2) : leaf(1, 1);
}

static LINK int switches(int a)
{
	switch (a) {
	case 0:
		return leaf(1, a);
	case 1:
		return tail(a);
	case 2:
		return big_frame(a);
	case 3:
		return recursive(a);
	case 4:
		return aligned(a);
	default:
		return 0;
	}
}

int main(void)
{
	struct large large = { { 1, 2, 3 } };
	vector a = { 1, 2, 3, 4 };

	sink = red_zone(3) + many_saved(1, 2, 3, 4) + with_alloca(100) + with_array(50);
	sink += aligned(3) + aligned_with_alloca(200) + aligns_itself(2, 3);
	a = vectors(a, a);
	sink += a[1] + passes_many_arguments(3) + passes_large(large, 2).numbers[2];
	for (int i = 0; i < 5; i++)
		sink += early_exits(i) + switches(i);
	sink += tail_of_tail(2) + through_pointer(tail, 3) + tail_through_pointer(tail_of_tail, 4);
	sink += through_pointer(recursive, 3);
	return 0;
}
