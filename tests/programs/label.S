/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function with a label in it, which is no function. */
	.text
	.globl outer
	.type outer, @function
outer:
	.cfi_startproc
	nop
inside:
	nop
	ret
	.cfi_endproc
	.size outer, . - outer
	.section .note.GNU-stack, "", @progbits
