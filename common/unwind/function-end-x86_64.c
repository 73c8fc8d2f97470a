/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds where assembler functions end in x86-64 code (function_end_is_within of unwind-arch.h). */
#include <string.h>

#include "common/unwind/unwind-arch.h"

enum {
	RET = 0xc3,
	HLT = 0xf4,
	NOP = 0x90,
	INT3 = 0xcc,
	JMP = 0xe9,
	JMP_SHORT = 0xeb,
	FUNCTION_ALIGNMENT = 16,
};

/* Assemblers and linkers pad with these (Intel SDM, volume 2: NOP, INT3). */
static bool is_padding(const unsigned char *code, size_t size)
{
	static const unsigned char nops[][2] = {
		{ 0x66, 0x90 }, { 0x0f, 0x1f }, { 0x66, 0x0f }, { 0x66, 0x66 }, { 0x66, 0x2e }
	};

	if (*code == NOP || *code == INT3)
		return true;
	for (size_t i = 0; size >= 2 && i < sizeof(nops) / sizeof(nops[0]); i++)
		if (!memcmp(code, nops[i], 2))
			return true;
	return false;
}

/* The size of a jump out of the code, to another function; 0: it is none. */
static size_t size_of_jump_out(const unsigned char *code, size_t at, size_t size)
{
	size_t n = code[at] == JMP ? 1 + sizeof(int32_t) : 1 + sizeof(int8_t);
	int64_t target;
	int32_t distance;

	if ((code[at] != JMP && code[at] != JMP_SHORT) || n > size - at)
		return 0;
	memcpy(&distance, code + at + 1, n - 1 < sizeof(distance) ? 1 : sizeof(distance));
	target = at + n + (code[at] == JMP ? distance : (int8_t)distance);
	return target < 0 || target >= (int64_t)size ? n : 0;
}

/* The size of an instruction that does not fall through; 0: it is none. */
static size_t size_of_last(const unsigned char *code, size_t at, size_t size)
{
	static const unsigned char trap[] = { 0x0f, 0x0b }; /* ud2 */
	const unsigned char *next = code + at + 1;

	if (code[at] == RET || code[at] == HLT)
		return 1;
	if (size - at >= 2 &&
	    (!memcmp(code + at, trap, 2) || (code[at] == 0xff && (*next & 0xf8) == 0xe0)))
		return 2; /* a trap, or a jump to a register */
	return size_of_jump_out(code, at, size);
}

/* Whether earlier code jumps to a place: then that belongs to the same function. */
static bool is_jumped_to(const unsigned char *code, size_t place)
{
	for (size_t i = 0; i + 2 <= place; i++) {
		bool is_short = (code[i] & 0xf0) == 0x70 || code[i] == JMP_SHORT; /* jcc, jmp */
		int32_t distance;

		if (is_short && i + 2 + (int8_t)code[i + 1] == place)
			return true;
		if (i + 6 > place || code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80)
			continue;
		memcpy(&distance, code + i + 2, sizeof(distance));
		if (i + 6 + distance == place)
			return true;
	}
	return false;
}

/* Whether a function may begin here without padding. */
static bool is_aligned_function(const unsigned char *code, size_t at, uint64_t address)
{
	return (address + at) % FUNCTION_ALIGNMENT == 0 && !is_jumped_to(code, at);
}

/* A byte inside an instruction may look like an end: then a name is missing, but none is wrong. */
bool function_end_x86_64(const uint8_t *code, size_t size, uint64_t address)
{
	for (size_t i = 0; i < size; i++) {
		size_t n = size_of_last(code, i, size), next = i + n;

		if (n && next < size &&
		    (is_padding(code + next, size - next) ||
		     is_aligned_function(code, next, address)))
			return true;
	}
	return false;
}
