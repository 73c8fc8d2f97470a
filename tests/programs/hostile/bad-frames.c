/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Spins in functions whose unwind information leads nowhere:
 *
 *	bad-frames WHICH SECONDS
 *
 *	own-return	its return address is its own: libdwfl 0.188 to 0.196 loops forever
 *	each-other	it returns to a function that returns to it
 *	endless		its CFA expression jumps back to its beginning
 *	long		its CFA expression has the maximum length, and only pushes
 *	upwards		its frame stays where it was, and its return address is read from there
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * Aligned to 64 bytes, so that two of them differ in one bit of their addresses. The rules begin
 * one instruction before the function, as return addresses are looked up one byte earlier. The loop
 * looks like a return address: a call, never executed, precedes it.
 */
#define SPIN(name, rules)                                                                          \
	void name(unsigned long n);                                                                \
	__asm__(".text\n.p2align 6\n.cfi_startproc\n" rules "\nnop\n.type " #name                  \
		", @function\n.globl " #name "\n" #name ":\n"                                      \
		"nop\nmov %rdi, %rcx\njmp 1f\ncall *%rax\n1: loop 1b\nret\n"                       \
		".cfi_endproc\n.size " #name ", .-" #name "\n")

/* DW_CFA_val_expression of the return address (16): DW_OP_breg16 0. */
SPIN(own_return, ".cfi_def_cfa rsp, 8\n.cfi_escape 0x16, 16, 2, 0x80, 0");
/* … and DW_OP_const1u 64, DW_OP_xor: the same place in the other function, and back. */
__asm__(".text\n.p2align 7");
SPIN(each_other, ".cfi_def_cfa rsp, 0\n.cfi_escape 0x16, 16, 5, 0x80, 0, 0x08, 0x40, 0x27");
SPIN(other, ".cfi_def_cfa rsp, 0\n.cfi_escape 0x16, 16, 5, 0x80, 0, 0x08, 0x40, 0x27");
/* DW_CFA_def_cfa_expression: DW_OP_skip -3. */
SPIN(endless, ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff");
/* … DW_OP_breg7 0, then 16,000 times DW_OP_dup, DW_OP_dup. */
SPIN(long_expression, ".cfi_escape 0x0f, 0x82, 0xfa, 0x01, 0x77, 0\n"
		      ".rept 16000\n.cfi_escape 0x12, 0x12\n.endr");
/* The frame stays at rsp: DW_CFA_val_expression of rsp: DW_OP_breg7 0. */
SPIN(upwards, ".cfi_def_cfa rsp, 0\n.cfi_offset rip, 0\n.cfi_escape 0x16, 7, 2, 0x77, 0");

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(unsigned long n);
	} functions[] = {
		{ "own-return", own_return }, { "each-other", each_other }, { "endless", endless },
		{ "long", long_expression },  { "upwards", upwards },
	};
	clock_t end = argc == 3 ? atof(argv[2]) * CLOCKS_PER_SEC : 0;

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions) && end; i++) {
		if (strcmp(argv[1], functions[i].name))
			continue;
		while (clock() < end)
			functions[i].run(1000000);
		return 0;
	}
	fprintf(stderr, "usage: bad-frames WHICH SECONDS\n");
	return 2;
}
