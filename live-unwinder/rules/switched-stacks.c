/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "live-unwinder/rules/switched-stacks.h"
#include "common/elf/dynamic-symbol.h"
#include "common/elf/static-symbol.h"

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

/* The first tells greenlet from other files, which are not searched for more. */
static const struct {
	const char *symbol;
	bool (*find)(Elf *elf, const char *name, GElf_Sym *ret);
	const struct unwind_rule *rule;
} functions[SWITCHED_STACKS_FUNCTIONS] = {
	/* greenlet::UserGreenlet::g_initialstub(void*): it never returns to its caller. */
	{ "_ZN8greenlet12UserGreenlet13g_initialstubEPv", dynamic_symbol_find, &no_caller },
	/* greenlet::Greenlet::g_switchstack(); and what it calls, if the file names that. */
	{ "_ZN8greenlet8Greenlet13g_switchstackEv", dynamic_symbol_find, &lost_caller },
	{ "slp_switch", static_symbol_find, &lost_caller },
};

void switched_stacks_find(const struct elf_image *file, struct switched_stacks *ret)
{
	*ret = (struct switched_stacks){ 0 };
	for (size_t i = 0; i < SWITCHED_STACKS_FUNCTIONS; i++) {
		GElf_Sym symbol;
		uint64_t offset;

		if (functions[i].find(file->elf, functions[i].symbol, &symbol) &&
		    elf_image_offset(file, symbol.st_value, &offset) &&
		    symbol.st_size <= UINT64_MAX - offset) {
			ret->functions[i].from = offset;
			ret->functions[i].to = offset + symbol.st_size;
		} else if (i == 0) {
			return;
		}
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
