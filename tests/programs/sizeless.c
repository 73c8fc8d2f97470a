/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library whose exported symbols have no size, as assemblers make them, followed by functions
 * that lose their names when it is stripped: some with unwind information, some without.
 */
#define HIDDEN __attribute__((noipa, noinline))

long enter_described(long n);
long enter_bare(long n);
long bare(long n);

__asm__(".text\n"
	".globl sizeless\n"
	".type sizeless, @function\n"
	"sizeless: ret\n");

static HIDDEN long described(long n)
{
	for (; n; n--)
		__asm__ volatile("");
	return n;
}

long enter_described(long n)
{
	n = described(n);
	__asm__ volatile("" : "+r"(n));
	return n;
}

__asm__(".text\n"
	".globl first_bare\n"
	".type first_bare, @function\n"
	"first_bare: ret\n"
	"	.p2align 4\n"
	"	.type bare, @function\n"
	"bare:	dec %rdi\n"
	"	jnz bare\n"
	"	ret\n");

long enter_bare(long n)
{
	n = bare(n);
	__asm__ volatile("" : "+r"(n));
	return n;
}
