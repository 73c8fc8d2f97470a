/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A library whose function is called through a PLT. It does a little more than return: samples fall
 * on what takes time, and on some machines hardly any fall on a lone return.
 */
enum { N_STEPS = 4 };

void tiny(void);

void tiny(void)
{
	for (int step = 0; step < N_STEPS; step++)
		__asm__ volatile("" : "+r"(step));
}
