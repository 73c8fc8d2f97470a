/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of a few hundred bytes, without a C library, that spins in a known chain of calls:
 * _start → outer → middle → inner. Recorded streams contain the whole program (embed-images), so
 * that they can be unwound and symbolized anywhere.
 */
static volatile unsigned long sink;

__attribute__((noinline)) static void inner(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		sink += i * i;
}

__attribute__((noinline)) static void middle(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		inner(1000);
	sink++;
}

__attribute__((noinline)) static void outer(unsigned long n)
{
	middle(n);
	sink++;
}

__attribute__((noreturn, used)) static void run(void)
{
	outer(20000);
	__asm__ volatile("syscall" : : "a"(231), "D"(0)); /* exit_group(0) */
	__builtin_unreachable();
}

__asm__(".globl _start\n"
	".type _start, @function\n"
	"_start:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n" /* the outermost frame */
	"	call run\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size _start, . - _start\n");
