/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64. perf's register order is X0…X29 LR SP PC (asm/perf_regs.h), like DWARF's ("DWARF for the
 * Arm 64-bit Architecture", 4.1).
 */
#include <elf.h>

#include "common/arch/arch.h"

enum { X29 = 29, X30 = 30, SP = 31, PC = 32 };

static const struct arch_register names[] = {
	{ "x0", 0 },	{ "x1", 1 },   { "x2", 2 },   { "x3", 3 },   { "x4", 4 },   { "x5", 5 },
	{ "x6", 6 },	{ "x7", 7 },   { "x8", 8 },   { "x9", 9 },   { "x10", 10 }, { "x11", 11 },
	{ "x12", 12 },	{ "x13", 13 }, { "x14", 14 }, { "x15", 15 }, { "x16", 16 }, { "x17", 17 },
	{ "x18", 18 },	{ "x19", 19 }, { "x20", 20 }, { "x21", 21 }, { "x22", 22 }, { "x23", 23 },
	{ "x24", 24 },	{ "x25", 25 }, { "x26", 26 }, { "x27", 27 }, { "x28", 28 }, { "x29", X29 },
	{ "x30", X30 }, { "fp", X29 }, { "lr", X30 }, { "sp", SP },  { NULL },
};

const struct arch arch_aarch64 = {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.register_mask = 0x1ffffffff,
	.n_registers = 33,
	.sample_index = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
			  17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32 },
	.sp = SP,
	.fp = X29,
	.pc = PC,
	.return_address = X30,
	.names = names,
	/* Pointer authentication uses bits 48 to 54, tags use bits from 56 on. */
	.code_mask = (1ULL << 48) - 1,
	/* 128 bytes of siginfo; uc_mcontext at 176 of ucontext: fault_address X0…X30 SP PC */
	.interrupted_at = { 312, 320, 328, 336, 344, 352, 360, 368, 376, 384, 392,
			    400, 408, 416, 424, 432, 440, 448, 456, 464, 472, 480,
			    488, 496, 504, 512, 520, 528, 536, 544, 552, 560, 568 },
};
