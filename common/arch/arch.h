/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between architectures, but for what code and its unwind information mean
 * (common/unwind/unwind-arch.h). One file each, as a stream may come from any of them. Registers
 * have DWARF's numbers (the psABI documents).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { ARCH_REGISTERS_MAX = 40 };

struct arch_register {
	const char *name;
	uint8_t number;
};

struct arch {
	const char *name;     /* as uname(2) has it */
	uint16_t elf_machine; /* e_machine of its ELF files */
	/*
	 * The user registers of a sample, as a mask of perf's numbers (asm/perf_regs.h): exactly
	 * what dwflst_perf_sample_preferred_regs_mask() gives, since elfutils maps a larger set
	 * wrongly.
	 */
	uint64_t register_mask;
	uint8_t n_registers;			  /* bits in it; DWARF's numbers are below */
	uint8_t sample_index[ARCH_REGISTERS_MAX]; /* of a register in a sample */
	uint8_t sp, fp, pc;
	uint8_t return_address; /* its column in unwind information; x86-64 has no such register */
	/* Names as an assembler has them; `sp` and `fp` are among them. NULL ends them. */
	const struct arch_register *names;
	uint64_t code_mask; /* the bits of a return address that are its address */
	/* Bytes that a call pushes, the return address; 0: that is left in a register. */
	uint8_t call_pushes;
	/*
	 * The caller's stack pointer is so far above a frame pointer, where there is one: at the
	 * frame pointer is the caller's, behind it the return address. 0: it may be anywhere.
	 */
	uint8_t frame_record_size;
	/*
	 * What a signal has interrupted: from the stack pointer of its frame (that of the code to
	 * which a handler returns) to where the kernel has put registers (struct rt_sigframe;
	 * asm/sigcontext.h).
	 */
	int16_t interrupted_at[ARCH_REGISTERS_MAX];
};

extern const struct arch arch_x86_64, arch_aarch64;

/* This machine's. */
const struct arch *arch_host(void);

/* By e_machine, this machine's for 0 (a stream that does not say); NULL: it is not known. */
const struct arch *arch_find(uint16_t elf_machine);

/* By what uname(2) says; NULL: it is not known. */
const struct arch *arch_find_name(const char *name);

/* The number of a register, whose name need not end with a zero byte; -1: there is none. */
int arch_register_number(const struct arch *arch, const char *name, size_t size);

/* A register of a sample that has them all. */
static inline uint64_t arch_sampled(const struct arch *arch, const uint64_t *sampled,
				    uint8_t number)
{
	return sampled[arch->sample_index[number]];
}
