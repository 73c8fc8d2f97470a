/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The library that rewritten.c rewrites; it needs nothing behind its code. */
void spin(unsigned long n);

__attribute__((noinline)) void spin(unsigned long n)
{
	for (volatile unsigned long i = 0; i < n; i++)
		;
}
