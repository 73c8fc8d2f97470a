/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A uprobe at `probed` executes the instruction out of line: it is none that the kernel skips. */
#define FAR __attribute__((noipa))

long sum;

FAR __attribute__((optimize("omit-frame-pointer"))) void inner(long n)
{
	for (; n > 0; n--)
		__asm__ volatile(".globl probed\n"
				 "probed: add %0, sum(%%rip)"
				 :
				 : "r"(n)
				 : "memory", "cc");
}

FAR void middle(long n)
{
	inner(n);
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < 2000; i++)
		middle(100);
	return 0;
}
