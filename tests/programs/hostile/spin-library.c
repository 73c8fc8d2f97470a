/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library that rewritten.c rewrites; it needs nothing that lies behind its code. */
void spin(unsigned long n);

__attribute__((noinline)) void spin(unsigned long n)
{
	for (volatile unsigned long i = 0; i < n; i++)
		;
}
