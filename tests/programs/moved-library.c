/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two libraries of one layout, whose functions have different names. */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define FAR __attribute__((noipa, visibility("hidden")))

FAR void JOIN(NAME, _inner)(volatile long *sum, long n)
{
	for (; n > 0; n--)
		++*sum;
}

FAR void JOIN(NAME, _outer)(volatile long *sum, long n)
{
	JOIN(NAME, _inner)(sum, n);
	++*sum;
}

void entry(volatile long *sum, long n)
{
	JOIN(NAME, _outer)(sum, n);
	++*sum;
}
