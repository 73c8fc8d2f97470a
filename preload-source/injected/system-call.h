/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A raw system call, as the C library's function may be another library's: one of a sanitizer that
 * is not initialized, or of a preloaded library that does more. Returns the kernel's result, -errno
 * if it fails; errno(3) is unchanged.
 */
#pragma once

#ifndef __x86_64__
#error "system calls are made for x86-64 only"
#endif

static inline long system_call_of_six(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d, fifth __asm__("r8") = e, sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}

#define SYSTEM_CALL_PICK(number, a, b, c, d, e, f, ...)                                            \
	system_call_of_six(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Up to six arguments, numbers or pointers; the kernel ignores those that are missing. */
#define system_call(number, ...) SYSTEM_CALL_PICK(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
