/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library whose function is called by way of a PLT. */
void tiny(void);

void tiny(void)
{
	__asm__ volatile("");
}
