/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where instructions of x86-64 end, in code that runs in 64-bit mode. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parts of an instruction, by their offsets; 0: it has none. */
struct x86_instruction {
	uint8_t size;
	uint8_t rex;	/* the prefix itself */
	uint8_t opcode; /* where it is; one of two bytes begins with 0x0f */
	uint8_t modrm;	/* where it is */
	bool is_vector; /* by VEX or EVEX: the opcode is of another map, and begins with no 0x0f */
	uint8_t displacement, displacement_size;
};

/*
 * Decodes the instruction that code begins with (Intel SDM, volume 2, appendix A). Returns its
 * size; 0: it is none, or does not end within `n` bytes.
 */
size_t instruction_x86_64(const uint8_t *code, size_t n, struct x86_instruction *ret);
