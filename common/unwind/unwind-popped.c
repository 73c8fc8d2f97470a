/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/unwind/unwind-popped.h"

void popped_fp_set(struct unwind_rule *rule)
{
	rule->fp = UNWIND_VALUE_SAME;
	rule->fp_offset = 0;
	rule->flags |= UNWIND_FLAG_INFERRED;
}

static bool is_popped_before(const struct unwind_arch *arch, struct unwind_code *code,
			     uint64_t offset)
{
	const uint8_t *before = unwind_code_before(code, offset, UNWIND_CODE_BEFORE);

	return before && arch->is_pop_of_fp && arch->is_pop_of_fp(before);
}

static void infer_slot(struct popped_fp *popped, const struct unwind_arch *arch,
		       struct unwind_code *code, uint64_t offset, struct unwind_rule *rule)
{
	if (rule->fp_offset != popped->offset)
		*popped = (struct popped_fp){ .offset = rule->fp_offset };
	if (rule->cfa == UNWIND_CFA_SP && (int64_t)rule->cfa_offset + rule->fp_offset < 0) {
		if (popped->was_held)
			popped->is_popped = is_popped_before(arch, code, offset);
		popped->was_held = false; /* if it was not popped now, the slot is in use */
		if (popped->is_popped)
			popped_fp_set(rule);
		return;
	}
	popped->is_popped = false;
	if (rule->cfa == UNWIND_CFA_SP || rule->cfa == UNWIND_CFA_FP)
		popped->was_held = true;
}

/* After the pop, a realigned function restores the stack pointer; the row begins after that. */
static size_t infer_realigned(const struct unwind_arch *arch, struct unwind_code *code,
			      uint64_t offset, struct unwind_rule *rule)
{
	const uint8_t *before = unwind_code_before(code, offset, UNWIND_CODE_BEFORE);
	size_t n = before && rule->cfa == UNWIND_CFA_SP && arch->find_pop_of_realigned
			   ? arch->find_pop_of_realigned(before)
			   : 0;

	if (n)
		popped_fp_set(rule);
	return n;
}

size_t popped_fp_infer(struct popped_fp *popped, const struct unwind_arch *arch,
		       struct unwind_code *code, uint64_t offset, struct unwind_rule *rule)
{
	if (!code)
		return 0;
	if (rule->fp == UNWIND_VALUE_AT_FP)
		return infer_realigned(arch, code, offset, rule);
	if (rule->fp == UNWIND_VALUE_AT_CFA)
		infer_slot(popped, arch, code, offset, rule);
	else
		*popped = (struct popped_fp){ 0 };
	return 0;
}
