/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64. perf's register order is AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8…R15
 * (asm/perf_regs.h); DWARF's is RAX RDX RCX RBX RSI RDI RBP RSP R8…R15 RA (psABI, figure 3.36).
 */
#include <elf.h>

#include "common/arch/arch.h"

enum { RBP = 6, RSP = 7, RETURN_ADDRESS = 16 };

static const struct arch_register names[] = {
	{ "rax", 0 },  { "rdx", 1 },   { "rcx", 2 },   { "rbx", 3 },  { "rsi", 4 },
	{ "rdi", 5 },  { "rbp", RBP }, { "rsp", RSP }, { "r8", 8 },   { "r9", 9 },
	{ "r10", 10 }, { "r11", 11 },  { "r12", 12 },  { "r13", 13 }, { "r14", 14 },
	{ "r15", 15 }, { "fp", RBP },  { "sp", RSP },  { NULL },
};

const struct arch arch_x86_64 = {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.register_mask = 0xff01ff, /* AX…IP, R8…R15 */
	.n_registers = 17,
	.sample_index = { 0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8 },
	.sp = RSP,
	.fp = RBP,
	.pc = RETURN_ADDRESS,
	.return_address = RETURN_ADDRESS,
	.names = names,
	.code_mask = UINT64_MAX,
	.call_pushes = 8,
	.frame_record_size = 16,
	/* struct ucontext at SP, uc_mcontext at 40 in it: R8… DI SI BP BX DX AX CX SP IP */
	.interrupted_at = { 144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96,
			    168 },
};
