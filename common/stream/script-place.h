/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where frames of an interpreter's language are: in one image that all processes share, mapped
 * behind all user addresses. A place is the number of the code (a `memory` record has it) and the
 * number of an instruction, counted from 1; 0: before the first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { SCRIPT_INSTRUCTION_BITS = 24 };

#define SCRIPT_PATH "[cpython]" /* of the image: the language, in brackets */
#define SCRIPT_START (1ULL << 62)
#define SCRIPT_END (1ULL << 63)
#define SCRIPT_NUMBERS_MAX ((SCRIPT_END - SCRIPT_START) >> SCRIPT_INSTRUCTION_BITS)
#define SCRIPT_INSTRUCTIONS_MAX (1ULL << SCRIPT_INSTRUCTION_BITS)

/* Whether an address is a place: that of the instruction itself, in all frames. */
static inline bool script_has(uint64_t address)
{
	return address >= SCRIPT_START && address < SCRIPT_END;
}

/* The offset of a place in the image. */
static inline uint64_t script_place(uint64_t number, uint64_t instruction)
{
	return number << SCRIPT_INSTRUCTION_BITS | instruction;
}

static inline uint64_t script_place_number(uint64_t place)
{
	return place >> SCRIPT_INSTRUCTION_BITS;
}

static inline uint64_t script_place_instruction(uint64_t place)
{
	return place & (SCRIPT_INSTRUCTIONS_MAX - 1);
}
