/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64. perf's order is AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8…R15
 * (asm/perf_regs.h); DWARF's is RAX RDX RCX RBX RSI RDI RBP RSP R8…R15 RA (psABI, figure 3.36).
 */
#include <elf.h>

#include "common/base/arch.h"

const struct arch arch_host = {
	.name = "x86_64",
	.machine = EM_X86_64,
	.register_mask = 0xff01ff, /* AX…IP, R8…R15 */
	.n_registers = 17,
	.ip_index = 8,
	.sp_index = 7,
	.fp_index = 6,
	.code_mask = UINT64_MAX,
	.frame_record_size = 16,
	.dwarf_n_registers = 17,
	.sample_index = { 0, 3, 2, 1, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16, 8 },
	.dwarf_sp = 7,
	.dwarf_fp = 6,
	.dwarf_return_address = 16,
	/* struct ucontext is at the stack pointer, and uc_mcontext at 40 in it: R8… DI SI BP BX DX
	 * AX CX SP IP */
	.interrupted_at = { 144, 136, 152, 128, 112, 104, 120, 160, 40, 48, 56, 64, 72, 80, 88, 96,
			    168 },
};
