/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/context/thread-variable.h"

enum { CODE_READ = 64 /* bytes of a function that are looked at */ };

static const uint8_t by_offset[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 }; /* mov %fs:OFFSET,%rax */
static const uint8_t from_got[] = { 0x48, 0x8b, 0x05 };		     /* mov DISTANCE(%rip),%rax */
static const uint8_t by_rax[] = { 0x64, 0x48, 0x8b, 0x00 };	     /* mov %fs:(%rax),%rax */
static const uint8_t pop = 0x5d, ret_code = 0xc3;		     /* pop %rbp; ret */

static bool begins_with(const uint8_t *code, size_t size, const uint8_t *begin, size_t n)
{
	return size >= n && !memcmp(code, begin, n);
}

/* Whether code returns what lies at an offset from the thread pointer. */
static bool returns_by_offset(const uint8_t *code, size_t size, int64_t *ret)
{
	size_t at = sizeof(by_offset);
	int32_t operand;

	if (!begins_with(code, size, by_offset, at) || size <= at + sizeof(operand) ||
	    code[at + sizeof(operand)] != ret_code)
		return false;
	memcpy(&operand, code + at, sizeof(operand));
	*ret = operand;
	return true;
}

/* The same with the offset from the GOT, whose entry is at a distance of so much. */
static bool returns_from_got(const uint8_t *code, size_t size, int64_t *ret)
{
	size_t at = sizeof(from_got);
	int32_t operand;

	if (!begins_with(code, size, from_got, at) || size <= at + sizeof(operand))
		return false;
	memcpy(&operand, code + at, sizeof(operand));
	at += sizeof(operand);
	*ret = (int64_t)at + operand;
	at += code[at] == pop;
	return size > at && begins_with(code + at, size - at, by_rax, sizeof(by_rax)) &&
	       size > at + sizeof(by_rax) && code[at + sizeof(by_rax)] == ret_code;
}

bool thread_variable_find(const struct loaded_image *image, const GElf_Sym *function, int64_t *ret)
{
	uint8_t code[CODE_READ];

	if (!loaded_image_read(image, function->st_value, code, sizeof(code)))
		return false;
	for (size_t i = 0; i < sizeof(code); i++) {
		if (returns_by_offset(code + i, sizeof(code) - i, ret))
			return true;
		if (returns_from_got(code + i, sizeof(code) - i, ret))
			return loaded_image_read(image, function->st_value + i + *ret, ret,
						 sizeof(*ret));
	}
	return false;
}
