/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames that compilers seldom or never make, each described truly, and each calling the next or
 * `leaf`, which saves nothing: what the frames before have in registers stays there.
 */
	.section .note.GNU-stack, "", @progbits
	.bss
	.balign 16
other_stack:
	.skip 4096
other_stack_end:

	.macro function name
	.type \name, @function
\name:
	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
	function leaf
	xor %eax, %eax
	nop
	ret
	end leaf

/* The CFA is told by rbx, and nobody saves it on the way. */
	function by_rbx
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	mov %rsp, %rbx
	.cfi_def_cfa_register rbx
	and $-64, %rsp
	sub $128, %rsp
	call leaf
	mov %rbx, %rsp
	.cfi_def_cfa_register rsp
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	end by_rbx

/* … by r12, with a callee that saves it */
	function saves_r12
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset r12, -16
	mov $77, %r12
	call leaf
	pop %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	ret
	end saves_r12

	function by_r12
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset r12, -16
	lea 16(%rsp), %r12
	.cfi_def_cfa r12, 0
	and $-32, %rsp
	call saves_r12
	call leaf
	lea -16(%r12), %rsp
	.cfi_def_cfa rsp, 16
	pop %r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	ret
	end by_r12

	function enters
	enter $32, $0
	.cfi_def_cfa rbp, 16
	.cfi_offset rbp, -16
	push $5
	pushfq
	call leaf
	popfq
	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	end enters

/* Its return address is in a register for a while. */
	function takes_its_return_address
	pop %rdx
	.cfi_adjust_cfa_offset -8
	.cfi_register 16, rdx
	nop
	push %rdx
	.cfi_adjust_cfa_offset 8
	.cfi_offset 16, -8
	nop
	pop %rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register 16, rcx
	nop
	jmp *%rcx
	end takes_its_return_address

/* rbp is saved where no sample has a look, and is something else meanwhile. */
	function red_zone
	mov %rbp, -16(%rsp)
	.cfi_offset rbp, -24
	mov $88, %ebp
	nop
	mov -16(%rsp), %rbp
	.cfi_restore rbp
	ret
	end red_zone

	function calls_red_zone
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register rbp
	sub $16, %rsp
	call red_zone
	leave
	.cfi_def_cfa rsp, 8
	.cfi_restore rbp
	ret
	end calls_red_zone

/* The way back is in memory, on another stack: the CFA is the word at rsp, and 8. */
	function switches_stack
	mov %rsp, %rax
	lea other_stack_end(%rip), %rcx
	mov %rax, -16(%rcx)
	lea -16(%rcx), %rsp
	.cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8
	nop
	sub $16, %rsp
	.cfi_escape 0x0f, 5, 0x77, 16, 0x06, 0x23, 8
	call leaf
	add $16, %rsp
	.cfi_escape 0x0f, 5, 0x77, 0, 0x06, 0x23, 8
	mov (%rsp), %rsp
	.cfi_def_cfa rsp, 8
	ret
	end switches_stack

/* Left in the middle, and told of by what was remembered. */
	function early_out
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	push %r15
	.cfi_adjust_cfa_offset 8
	.cfi_offset r15, -24
	test %edi, %edi
	jz 1f
	.cfi_remember_state
	pop %r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
1:	.cfi_restore_state
	call leaf
	push $1
	.cfi_adjust_cfa_offset 8
	push $2
	.cfi_adjust_cfa_offset 8
	call leaf
	add $16, %rsp
	.cfi_adjust_cfa_offset -16
	pop %r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
	end early_out

/* A second part elsewhere, entered and left with a frame. */
	function in_two_parts
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbp, -16
	sub $64, %rsp
	.cfi_adjust_cfa_offset 64
	jmp cold_part
warm_again:
	add $64, %rsp
	.cfi_adjust_cfa_offset -64
	pop %rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	ret
	end in_two_parts

	.section .text.unlikely, "ax", @progbits
	function cold_part
	.cfi_def_cfa_offset 80
	.cfi_offset rbp, -16
	call leaf
	jmp warm_again
	end cold_part

/* Not told of at all: a stack ends here. */
	.text
	.type unknown, @function
unknown:
	push %rbp
	call leaf
	pop %rbp
	ret
	.size unknown, . - unknown

/* The last instruction of its description is a call, and what follows is not told of. */
	function ends_with_call
	sub $24, %rsp
	.cfi_adjust_cfa_offset 24
	call comes_back_elsewhere
	end ends_with_call
	.type not_told_of, @function
not_told_of:
	nop
	ret
	.size not_told_of, . - not_told_of

/* Takes its own and its caller's frame off. */
	function comes_back_elsewhere
	call leaf
	add $40 - 8, %rsp
	.cfi_def_cfa_offset 8 /* now for the caller's caller */
	ret
	end comes_back_elsewhere

	.globl main
	function main
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset rbx, -16
	call by_rbx
	call by_r12
	call enters
	call takes_its_return_address
	call calls_red_zone
	call switches_stack
	mov $1, %edi
	call early_out
	xor %edi, %edi
	call early_out
	call in_two_parts
	call unknown
	call ends_with_call
	xor %eax, %eax
	pop %rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	ret
	end main
