/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What compilers do not write of frames, but people do in assembly. The code is never run: it is
 * there so that each rule has a place.
 */
	.section .note.GNU-stack, ""
	.text
#if defined(__x86_64__)

end_of_stack:
	.cfi_startproc
	.cfi_undefined 16
	hlt
	.cfi_endproc

/* As glibc's: the CFA, rsp, the return address and rbp are in the saved context. */
signal_frame:
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	nop
	nop
	.cfi_endproc

/* As ld's, of which a file has one kind: here where the push is at other places. */
stubs:
	.cfi_startproc
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22
	nop
	.cfi_escape 0x0f, 11, 0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x36, 0x2a, 0x33, 0x24, 0x22
	nop
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x40, 0x2a, 0x33, 0x24, 0x22 /* no lit */
	nop
	.cfi_endproc

unusual:
	.cfi_startproc
	nop
	.cfi_register 16, 3
	nop
	.cfi_register 6, 10
	nop
	.cfi_same_value 6
	.cfi_offset 16, -16
	nop
	.cfi_undefined 6
	.cfi_def_cfa 10, 8
	nop
	.cfi_remember_state
	.cfi_escape 0x16, 6, 2, 0x76, 0		/* rbp is rbp + 0 */
	nop
	.cfi_escape 0x0f, 5, 0x76, 0x78, 0x06, 0x23, 8 /* the word at rbp - 8, + 8 */
	nop
	.cfi_escape 0x0f, 3, 0x7a, 0, 0x06	/* the word at r10 */
	nop
	.cfi_escape 0x0f, 2, 0x77, 8		/* rsp + 8 */
	nop
	.cfi_restore_state
	nop
	.cfi_escape 0x15, 7, 1			/* rsp is the CFA - 8 */
	nop
	.cfi_restore 7
	nop
	.cfi_endproc

/* An offset of an expression: that is nothing. */
wrong:
	.cfi_startproc
	nop
	.cfi_escape 0x0f, 3, 0x77, 8, 0x06
	nop
	.cfi_escape 0x0e, 16
	nop
	.cfi_def_cfa 7, 8
	nop
	.cfi_endproc

#elif defined(__aarch64__)

end_of_stack:
	.cfi_startproc
	.cfi_undefined 30
	brk #1
	.cfi_endproc

/* As the kernel's: a frame record is on top of the saved context. */
signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa 29, 0
	.cfi_offset 29, 0
	.cfi_offset 30, 8
	nop
	svc #0
	.cfi_endproc

/* As glibc's rawmemchr(): the return address is in another register than x30. */
return_in_x15:
	.cfi_startproc
	.cfi_return_column 15
	mov x15, x30
	nop
	ret x15
	.cfi_endproc

unusual:
	.cfi_startproc
	nop
	.cfi_register 30, 19
	nop
	.cfi_def_cfa 20, 16
	nop
	.cfi_remember_state
	.cfi_escape 0x16, 29, 2, 0x8d, 0	/* x29 is x29 + 0 */
	nop
	.cfi_restore_state
	nop
	.cfi_escape 0x10, 30, 2, 0x8f, 8	/* x30 is the word at sp + 8 */
	nop
	.cfi_escape 0x0f, 2, 0x8f, 16		/* sp + 16 */
	nop
	.cfi_endproc

#endif
