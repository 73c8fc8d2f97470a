/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library whose function is called by way of a PLT. It does a little more than to return: a
 * sample falls on what takes time, and on some machines nearly none falls on a return alone.
 */
enum { N_STEPS = 4 };

void tiny(void);

void tiny(void)
{
	for (int step = 0; step < N_STEPS; step++)
		__asm__ volatile("" : "+r"(step));
}
