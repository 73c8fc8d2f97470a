/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/image/first-load.h"

enum {
	WIDE = 0x48, /* prefix of instructions with 64 bits */
	LOAD = 0x8b,
	MODE_MASK = 0xc7, /* of the byte behind: all but the number of the register */
	FROM_RIP = 0x05,
	FROM_RAX = 0x00,
	TO_RAX = 0x05, /* with FROM_RIP */
	CODE_READ = 24,
};

/* What functions may begin with: endbr64; and push %rbp, mov %rsp,%rbp. */
static const uint8_t entry[] = { 0xf3, 0x0f, 0x1e, 0xfa }, frame[] = { 0x55, 0x48, 0x89, 0xe5 };

/* Passes a load's first bytes; NULL: it is none, or from elsewhere. */
static const uint8_t *pass_load(const uint8_t *at, uint8_t from)
{
	at += *at == WIDE;
	return at[0] == LOAD && (at[1] & MODE_MASK) == from ? at + 2 : NULL;
}

enum first_load_outcome first_load_find(const struct loaded_image *image, const GElf_Sym *function,
					uint64_t *ret)
{
	uint8_t code[CODE_READ];
	const uint8_t *at = code;
	int32_t distance;
	uint64_t address;
	bool is_rax;

	if (!loaded_image_read(image, function->st_value, code, sizeof(code)))
		return FIRST_LOAD_OTHER;
	at += memcmp(at, entry, sizeof(entry)) ? 0 : sizeof(entry);
	at += memcmp(at, frame, sizeof(frame)) ? 0 : sizeof(frame);
	at = pass_load(at, FROM_RIP);
	if (!at)
		return FIRST_LOAD_OTHER;
	is_rax = at[-1] == TO_RAX;
	memcpy(&distance, at, sizeof(distance));
	at += sizeof(distance);
	*ret = function->st_value + (at - code) + (int64_t)distance;
	if (!is_rax || !pass_load(at, FROM_RAX))
		return FIRST_LOAD_FOUND;
	if (!loaded_image_read(image, *ret, &address, sizeof(address)) || !address)
		return FIRST_LOAD_NOT_YET;
	*ret = address - image->bias;
	return FIRST_LOAD_FOUND;
}
