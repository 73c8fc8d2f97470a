/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "symbolizer/function-end.h"

enum { RET = 0xc3, NOP = 0x90, INT3 = 0xcc };

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

/*
 * A byte within an instruction can look like a return: then a name is missing, and none is wrong.
 */
bool function_end_is_within(const unsigned char *code, size_t size)
{
	for (size_t i = 0; i + 1 < size; i++)
		if (code[i] == RET && is_padding(code + i + 1, size - i - 1))
			return true;
	return false;
}
