/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Valid code with valid unwind information, which looks as if the frame pointer had been popped and
 * its description had not been told.
 */
	.section .note.GNU-stack, "", @progbits
	.text

/* Keeps the caller's frame pointer in the red zone, under a frame that it had for a call. */
	.globl in_red_zone
	.type in_red_zone, @function
in_red_zone:
	.cfi_startproc
	mov %rbp, -8(%rsp)
	.cfi_offset rbp, -16
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	mov %rdi, (%rsp)
	call callee
	mov (%rsp), %rcx
	add $24, %rsp
	.cfi_adjust_cfa_offset -24
	mov (%rbp), %rbp
1:	dec %rcx
	jnz 1b
	mov -8(%rsp), %rbp
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size in_red_zone, . - in_red_zone

/* Keeps it in a context of the caller's, to which the frame pointer points meanwhile. */
	.globl in_context
	.type in_context, @function
in_context:
	.cfi_startproc
	mov %rbp, (%rdi)
	mov %rdi, %rax
	mov %rdi, %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0 /* the word at rbp */
2:	dec %rsi
	jnz 2b
	mov (%rax), %rbp
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size in_context, . - in_context
