/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What differs between architectures; one file each, arch-<cpu>.c. */
#pragma once

#include <stdint.h>

enum { ARCH_REGISTERS_MAX = 40 };

struct arch {
	const char *name; /* as uname(2) tells it */
	uint16_t machine; /* e_machine of its ELF files */
	/*
	 * The user registers of a sample, as a mask of perf's numbers (asm/perf_regs.h): exactly
	 * what dwflst_perf_sample_preferred_regs_mask() gives, since elfutils maps a larger set
	 * wrongly.
	 */
	uint64_t register_mask;
	uint8_t n_registers; /* bits in it */
	uint8_t ip_index;    /* of the instruction pointer in a sample's registers */
	uint8_t sp_index;    /* of the stack pointer */
	uint8_t fp_index;    /* of the register that frame pointers are kept in */
	uint64_t code_mask;  /* the bits of a return address that are its address */
	/*
	 * The caller's stack pointer is so far above a frame pointer, where there is one: at the
	 * frame pointer is the caller's, behind it the return address. 0: it may be anywhere.
	 */
	uint8_t frame_record_size;
	/* DWARF's numbers (the psABI) */
	uint8_t dwarf_n_registers;
	uint8_t sample_index[ARCH_REGISTERS_MAX]; /* of DWARF's registers in a sample's */
	uint8_t dwarf_sp, dwarf_fp;
	uint8_t dwarf_return_address;
	/*
	 * What a signal has interrupted: from the stack pointer of its frame (that of the code to
	 * which a handler returns) to where the kernel has put DWARF's registers (struct
	 * rt_sigframe; asm/sigcontext.h). All 0: not known.
	 */
	int16_t interrupted_at[ARCH_REGISTERS_MAX];
};

extern const struct arch arch_host;
