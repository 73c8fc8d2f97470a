/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "symbolizer/plt.h"

/*
 * jmp *offset(%rip) is ff 25 and 32 bits; in front of it may stand endbr64 (f3 0f 1e fa) and the
 * prefix bnd (f2). The table's first entry, which calls the dynamic linker, begins with a push.
 */
uint64_t plt_slot(const unsigned char *code, size_t size, uint64_t address)
{
	static const unsigned char endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	size_t at = 0;
	int32_t offset;

	if (size >= sizeof(endbr64) && !memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	if (at < size && code[at] == 0xf2)
		at++;
	if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
		return 0;
	memcpy(&offset, code + at + 2, sizeof(offset));
	return address + at + 6 + offset;
}
