/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "common/elf/dynamic-symbol.h"
#include "common/elf/static-symbol.h"
#include "live-unwinder/rules/switched-stacks.h"

static const struct unwind_rule no_caller = {
	.cfa = UNWIND_CFA_SP,
	.return_address = UNWIND_VALUE_UNDEFINED,
	.fp = UNWIND_VALUE_UNDEFINED,
	.flags = UNWIND_FLAG_USER_RULE,
};
static const struct unwind_rule lost_caller = {
	.cfa = UNWIND_CFA_LOST,
	.flags = UNWIND_FLAG_USER_RULE,
};

/* `push %rbp; jmp *%rbx`: with that a coroutine begins. */
static const uint8_t trampoline[] = { 0x55, 0xff, 0xe3 };

enum { CODE_MAX = 4096 };

/* A function, or the part of one that begins with some code. */
struct switching_function {
	const char *symbol;
	bool (*find)(Elf *elf, const char *name, GElf_Sym *ret);
	const struct unwind_rule *rule;
	bool is_of_other; /* only files with the last one that is not are searched for it */
	const uint8_t *code;
	size_t code_size;
};

static const struct switching_function functions[SWITCHED_STACKS_FUNCTIONS] = {
	{ "make_fcontext", dynamic_symbol_find, &no_caller, false, trampoline, sizeof(trampoline) },
	/* greenlet::UserGreenlet::g_initialstub(void*): it never returns to its caller. */
	{ "_ZN8greenlet12UserGreenlet13g_initialstubEPv", dynamic_symbol_find, &no_caller },
	/* greenlet::Greenlet::g_switchstack(); and what it calls, if the file names that. */
	{ "_ZN8greenlet8Greenlet13g_switchstackEv", dynamic_symbol_find, &lost_caller, true },
	{ "slp_switch", static_symbol_find, &lost_caller, true },
};

/* Where the part of a function begins that counts. False: it has no such part. */
static bool find_part(const struct elf_image *file, const struct switching_function *function,
		      uint64_t offset, uint64_t size, uint64_t *ret)
{
	const Elf_Data *data;
	const char *at;

	*ret = offset;
	if (!function->code_size)
		return true;
	data = size <= CODE_MAX ? elf_getdata_rawchunk(file->elf, offset, size, ELF_T_BYTE) : NULL;
	at = data ? memmem(data->d_buf, data->d_size, function->code, function->code_size) : NULL;
	*ret += at ? at - (const char *)data->d_buf : 0;
	return at;
}

void switched_stacks_find(const struct elf_image *file, struct switched_stacks *ret)
{
	bool has_other = false;

	*ret = (struct switched_stacks){ 0 };
	for (size_t i = 0; i < SWITCHED_STACKS_FUNCTIONS; i++) {
		GElf_Sym symbol;
		uint64_t offset;
		bool is_there;

		if (functions[i].is_of_other && !has_other)
			continue;
		is_there = functions[i].find(file->elf, functions[i].symbol, &symbol) &&
			   elf_image_offset(file, symbol.st_value, &offset) &&
			   symbol.st_size <= UINT64_MAX - offset;
		if (!functions[i].is_of_other)
			has_other = is_there;
		if (is_there &&
		    find_part(file, &functions[i], offset, symbol.st_size, &ret->functions[i].from))
			ret->functions[i].to = offset + symbol.st_size;
	}
}

const struct unwind_rule *switched_stacks_rule(const struct switched_stacks *stacks,
					       uint64_t offset)
{
	for (size_t i = 0; i < SWITCHED_STACKS_FUNCTIONS; i++)
		if (offset >= stacks->functions[i].from && offset < stacks->functions[i].to)
			return functions[i].rule;
	return NULL;
}
