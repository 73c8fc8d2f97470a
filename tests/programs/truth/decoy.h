/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Never called, and calls nothing: its address lies where a wrong rule looks for a return address.
 * An unwinder that falls for it shows a complete, but wrong stack.
 */
#pragma once

extern const char decoy[];

__asm__(".pushsection .text\n"
	".type decoy, @function\n"
	"decoy:\n"
	"	.cfi_startproc\n"
	"	.cfi_undefined rip\n"
	"	nop\n"
	"	hlt\n"
	"	.cfi_endproc\n"
	".size decoy, . - decoy\n"
	".popsection\n");
