/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Like OpenSSH's privilege-separated child, vsftpd and others: a seccomp filter allows what malloc
 * needs (brk, mmap, munmap, mremap, madvise, futex) and I/O; other calls kill the process.
 */
#include <dlfcn.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile p;
__attribute__((noinline)) static void work(int n)
{
	char big[20000];
	memset(big, n, sizeof big);
	__asm__ volatile("" ::"r"(big) : "memory");
	p = malloc(100 + n);
	free(p);
}
int main(void)
{
	scmp_filter_ctx c = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int ok[] = { SCMP_SYS(read),	      SCMP_SYS(write),	    SCMP_SYS(brk),
		     SCMP_SYS(mmap),	      SCMP_SYS(munmap),	    SCMP_SYS(mremap),
		     SCMP_SYS(madvise),	      SCMP_SYS(futex),	    SCMP_SYS(exit_group),
		     SCMP_SYS(clock_gettime), SCMP_SYS(newfstatat), SCMP_SYS(fstat),
		     SCMP_SYS(close) };
	for (unsigned i = 0; i < sizeof ok / sizeof *ok; i++)
		seccomp_rule_add(c, SCMP_ACT_ALLOW, ok[i], 0);
	p = malloc(10);
	if (seccomp_load(c))
		return 1;
	for (int i = 0; i < 1000; i++)
		work(i);
	puts("program ended well");
	return 0;
}
