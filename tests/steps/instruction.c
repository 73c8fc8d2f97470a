/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <string.h>

#include "tests/steps/instruction.h"

/* Segments, sizes, rep, lock, notrack and bnd; the last of them may be a REX. */
static size_t skip_prefixes(const uint8_t *bytes, size_t size)
{
	static const uint8_t prefixes[] = { 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					    0x66, 0x67, 0xf0, 0xf2, 0xf3 };
	size_t n = 0;

	while (n < size && memchr(prefixes, bytes[n], sizeof(prefixes)))
		n++;
	return n < size && bytes[n] >> 4 == 4 ? n + 1 : n;
}

/* Opcode 0xff: the middle bits of the next byte tell which. */
static enum instruction decode_group(uint8_t operands)
{
	switch (operands >> 3 & 7) {
	case 2:
		return INSTRUCTION_CALL;
	case 4:
		return INSTRUCTION_JUMP;
	default:
		return INSTRUCTION_OTHER;
	}
}

/*
 * Of the call of a thunk against speculation: it leads over a trap for the processor's guesses
 * (pause), and what it has left on the stack is overwritten or dropped, and not returned to.
 */
static bool is_over_trap(const uint8_t *operands, size_t size)
{
	static const uint8_t distances[][4] = { { 7 }, { 11 } }, pause[] = { 0xf3, 0x90 };
	const size_t n = sizeof(distances[0]);

	return size >= n + sizeof(pause) && !memcmp(operands + n, pause, sizeof(pause)) &&
	       (!memcmp(operands, distances[0], n) || !memcmp(operands, distances[1], n));
}

enum instruction instruction_decode(const uint8_t *bytes, size_t size)
{
	size_t at = skip_prefixes(bytes, size);
	uint8_t next = at + 1 < size ? bytes[at + 1] : 0;

	if (at == size)
		return INSTRUCTION_OTHER;
	switch (bytes[at]) {
	case 0xe8:
		return is_over_trap(bytes + at + 1, size - at - 1) ? INSTRUCTION_OTHER
								   : INSTRUCTION_CALL;
	case 0xc2:
	case 0xc3:
		return INSTRUCTION_RETURN;
	case 0x0f:
		return next == 0x05 ? INSTRUCTION_SYSCALL : INSTRUCTION_OTHER;
	case 0xff:
		return decode_group(next);
	default:
		return INSTRUCTION_OTHER;
	}
}
