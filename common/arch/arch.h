/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What differs between architectures, except the meaning of code and unwind information
 * (common/unwind/unwind-arch.h). One file each; all are built, as a stream may come from any.
 * Registers have DWARF's numbers (psABI documents).
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
	const char *name;     /* as in uname(2) */
	uint16_t elf_machine; /* e_machine of its ELF files */
	/*
	 * The user registers of a sample, a mask of perf's numbers (asm/perf_regs.h): exactly that
	 * of dwflst_perf_sample_preferred_regs_mask(), as elfutils maps a larger set wrongly.
	 */
	uint64_t register_mask;
	uint8_t n_registers;			  /* bits in the mask; DWARF's numbers are below */
	uint8_t sample_index[ARCH_REGISTERS_MAX]; /* position of a register in a sample */
	uint8_t sp, fp, pc;
	uint8_t return_address; /* its column in unwind information; not a register on x86-64 */
	/* Assembler names, with "sp" and "fp"; NULL ends them. */
	const struct arch_register *names;
	uint64_t code_mask; /* the bits of a return address that are the address */
	/* Bytes of return address that a call pushes; 0: the call leaves it in a register. */
	uint8_t call_pushes;
	/*
	 * Bytes from a frame pointer to the caller's stack pointer: the frame record is the
	 * caller's frame pointer, then the return address. 0: it may be anywhere.
	 */
	uint8_t frame_record_size;
	/*
	 * Where a signal frame holds the interrupted registers (struct rt_sigframe;
	 * asm/sigcontext.h): offsets from its stack pointer, that of the code to be continued.
	 */
	int16_t interrupted_at[ARCH_REGISTERS_MAX];
};

extern const struct arch arch_x86_64, arch_aarch64;

/* The architecture of this machine. */
const struct arch *arch_host(void);

/* Finds an architecture by e_machine; 0 (a stream without it): this machine's. NULL: unknown. */
const struct arch *arch_find(uint16_t elf_machine);

/* Finds an architecture by uname(2)'s machine name; NULL: unknown. */
const struct arch *arch_find_name(const char *name);

/* Returns the number of a register, whose name need not be zero-terminated; -1: there is none. */
int arch_register_number(const struct arch *arch, const char *name, size_t size);

/* Returns a register of a sample that has all of them. */
static inline uint64_t arch_sampled(const struct arch *arch, const uint64_t *sampled,
				    uint8_t number)
{
	return sampled[arch->sample_index[number]];
}
