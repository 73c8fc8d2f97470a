/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For a machine other than the host: _start() calls outer(), which calls middle(), then leaf(). */
volatile long sink;

__attribute__((noinline)) static long leaf(long *x)
{
	return *x * 3 + sink;
}

__attribute__((noinline)) long middle(long n)
{
	long list[4] = { n, n + 1, n, 2 }, sum = 0;

	for (int i = 0; i < 4; i++)
		sum += leaf(&list[i]);
	return sum;
}

__attribute__((noinline)) long outer(long n)
{
	sink = middle(n);
	return sink + 1;
}

__asm__(".globl _start\n"
	".type _start, %function\n"
	"_start:\n"
	".cfi_startproc\n"
	".cfi_undefined x30\n"
	"	bl outer\n"
	"	b _start\n"
	".cfi_endproc\n"
	".size _start, . - _start\n");
