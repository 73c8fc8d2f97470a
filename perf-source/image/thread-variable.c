/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "perf-source/image/thread-variable.h"

enum { CODE_READ = 64 /* bytes of a function that are looked at */ };

static const uint8_t by_offset[] = { 0x64, 0x48, 0x8b, 0x04, 0x25 }; /* mov %fs:OFFSET,%rax */
static const uint8_t from_got[] = { 0x48, 0x8b, 0x05 };		     /* mov DISTANCE(%rip),%rax */
static const uint8_t by_rax[] = { 0x64, 0x48, 0x8b, 0x00 };	     /* mov %fs:(%rax),%rax */
static const uint8_t index_at[] = { 0x48, 0x8d, 0x3d };		     /* lea DISTANCE(%rip),%rdi */
static const uint8_t from_rax[] = { 0x48, 0x8b, 0x00 };		     /* mov (%rax),%rax */
static const uint8_t pop = 0x5d, call = 0xe8, data16 = 0x66, rex_w = 0x48;

/* What a function does with the variable once it is loaded. */
struct variable_use {
	uint8_t code[4];
	size_t size;
};

static const struct variable_use is_returned = { { 0xc3 }, 1 };

/* Code from where something is looked for. */
struct code {
	const uint8_t *at;
	size_t size;
};

static bool skip(struct code *code, const uint8_t *expected, size_t n)
{
	if (code->size < n || memcmp(code->at, expected, n) != 0)
		return false;
	code->at += n;
	code->size -= n;
	return true;
}

static bool skip_operand(struct code *code, int32_t *ret)
{
	if (code->size < sizeof(*ret))
		return false;
	memcpy(ret, code->at, sizeof(*ret));
	code->at += sizeof(*ret);
	code->size -= sizeof(*ret);
	return true;
}

/* Whether code loads what lies at an offset from the thread pointer, and uses it so. */
static bool loads_by_offset(struct code code, const struct variable_use *use, int64_t *ret)
{
	int32_t operand;

	if (!skip(&code, by_offset, sizeof(by_offset)) || !skip_operand(&code, &operand))
		return false;
	*ret = operand;
	skip(&code, &pop, 1);
	return skip(&code, use->code, use->size);
}

/* The same with the offset from the GOT, whose entry is at a distance of so much. */
static bool loads_from_got(struct code code, const struct variable_use *use, int64_t *ret)
{
	const uint8_t *begin = code.at;
	int32_t operand;

	if (!skip(&code, from_got, sizeof(from_got)) || !skip_operand(&code, &operand))
		return false;
	*ret = (int64_t)(code.at - begin) + operand;
	skip(&code, &pop, 1);
	return skip(&code, by_rax, sizeof(by_rax)) && skip(&code, use->code, use->size);
}

/*
 * The same with the address from __tls_get_addr(), whose argument (tls_index: module and offset) is
 * at a distance of so much.
 */
static bool loads_by_index(struct code code, const struct variable_use *use, int64_t *ret)
{
	const uint8_t *begin = code.at;
	int32_t operand;

	if (!skip(&code, index_at, sizeof(index_at)) || !skip_operand(&code, &operand))
		return false;
	*ret = (int64_t)(code.at - begin) + operand;
	while (skip(&code, &data16, 1))
		;
	skip(&code, &rex_w, 1);
	if (!skip(&code, &call, 1) || !skip_operand(&code, &operand))
		return false;
	skip(&code, &pop, 1);
	return skip(&code, from_rax, sizeof(from_rax)) && skip(&code, use->code, use->size);
}

/* Whether the thread pointer leads to the variable directly, at a distance. */
static bool find_near(const struct loaded_image *image, const GElf_Sym *function,
		      const struct variable_use *use, int64_t *ret)
{
	uint8_t bytes[CODE_READ];

	if (!loaded_image_read(image, function->st_value, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		struct code code = { bytes + i, sizeof(bytes) - i };

		if (loads_by_offset(code, use, ret))
			return true;
		if (loads_from_got(code, use, ret))
			return loaded_image_read(image, function->st_value + i + *ret, ret,
						 sizeof(*ret));
	}
	return false;
}

/* Whether it leads there by the thread's list of modules: the address of the index as linked. */
static bool find_in_module(const struct loaded_image *image, const GElf_Sym *function,
			   const struct variable_use *use, uint64_t *ret)
{
	uint8_t bytes[CODE_READ];
	int64_t distance;

	if (!loaded_image_read(image, function->st_value, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		if (loads_by_index((struct code){ bytes + i, sizeof(bytes) - i }, use, &distance)) {
			*ret = function->st_value + i + distance;
			return true;
		}
	return false;
}

bool thread_variable_find(const struct loaded_image *image, const GElf_Sym *function, int64_t *ret)
{
	return find_near(image, function, &is_returned, ret);
}

bool thread_variable_find_root(const struct loaded_image *image, const GElf_Sym *function,
			       uint8_t member, struct walk_root *ret)
{
	const struct variable_use is_followed = { { 0x48, 0x8b, 0x40, member },
						  4 }; /* mov N(%rax),%rax */
	uint64_t index;
	int64_t distance;

	*ret = (struct walk_root){ .base = WALK_BASE_THREAD, .self = -1, .n_loads = 1 };
	if (find_near(image, function, &is_followed, &distance)) {
		ret->start = distance;
		return true;
	}
	if (!find_in_module(image, function, &is_followed, &index))
		return false;
	/* Its loader fills it in before it runs the module: the kernel reads it at each sample. */
	ret->base = WALK_BASE_MODULE;
	ret->start = image->bias + index;
	return true;
}
