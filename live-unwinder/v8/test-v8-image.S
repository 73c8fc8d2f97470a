/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stripped program with V8 exports, without V8: three functions of code, the last of which
 * makes the frame of another one, and their table, with entries of ENTRY_WORDS words. GAP bytes of
 * the code are not described.
 */
	.macro function name
	.globl \name
	.type \name, @function
\name:
	.endm

	.text
	function _ZN2v88internal23DefaultEmbeddedBlobCodeEv
	lea code(%rip), %rax
	ret
	.balign 16
	function _ZN2v88internal23DefaultEmbeddedBlobDataEv
	lea table(%rip), %rax
	ret
	.balign 16
	function _ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv
	lea code_size(%rip), %rax
	mov (%rax), %eax
	ret
	.balign 16
	function _ZN2v88internal27DefaultEmbeddedBlobDataSizeEv
	mov table_size(%rip), %eax
	ret

	.balign 64
code:
	.fill 192, 1, 0x90
	pop %r15
	push %rbp
	mov %rsp, %rbp
	.fill 64, 1, 0x90

	.macro entry offset size
	.long \offset, \size
	.fill ENTRY_WORDS - 2, 4, 7
	.endm

	.section .rodata
	.balign 8
table:
	.quad 1, 2, 3
	entry 0 60
	entry 64 64
	entry 192+GAP 20
table_end:
code_size:
	.long 256 + GAP
table_size:
	.long table_end - table

	.section .note.GNU-stack, "", @progbits
