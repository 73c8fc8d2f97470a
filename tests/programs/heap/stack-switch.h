/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks made by a program itself: code that runs on one has no caller. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Saves callee-saved registers and stack pointer to `*save`; continues with those at `to`. */
void switch_stack(void **save, void *to);

__asm__(".text\n"
	".type switch_stack, @function\n"
	"switch_stack:\n\t"
	"push %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n\t"
	"mov %rsp, (%rdi)\n\t"
	"mov %rsi, %rsp\n\t"
	"pop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\t"
	"ret\n"
	".size switch_stack, . - switch_stack\n");

enum { STACK_WORDS = 8 }; /* six registers, the entry, no return address */

/* Makes a stack that ends at `top`, for switch_stack(). `begin` must not return. */
static inline void *new_stack(char *top, void (*begin)(void))
{
	uintptr_t *words = (uintptr_t *)top - STACK_WORDS;

	for (int i = 0; i < STACK_WORDS; i++)
		words[i] = 0;
	words[STACK_WORDS - 2] = (uintptr_t)begin;
	return words;
}
