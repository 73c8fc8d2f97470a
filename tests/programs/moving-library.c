/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two libraries of one layout, whose functions have different names. The innermost function, and
 * another one that may run in its place, have a page each.
 */
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define FAR __attribute__((noipa, used)) static
#define ON_A_PAGE __attribute__((aligned(4096)))

ON_A_PAGE FAR void JOIN(NAME, _inner)(volatile long *sum, long n)
{
	for (; n > 0; n--)
		++*sum;
}

ON_A_PAGE FAR void JOIN(NAME, _other)(volatile long *sum, long n)
{
	for (; n > 0; n--)
		++*sum;
}

ON_A_PAGE FAR void JOIN(NAME, _outer)(volatile long *sum, long n)
{
	JOIN(NAME, _inner)(sum, n);
	++*sum;
}

void entry(volatile long *sum, long n);
void entry(volatile long *sum, long n)
{
	JOIN(NAME, _outer)(sum, n);
	++*sum;
}

extern void *inner_page;
void *inner_page = (void *)JOIN(NAME, _inner);
