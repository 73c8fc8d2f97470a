/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/unwind-popped.h"

void popped_fp_mend(struct popped_fp *popped, struct unwind_rule *rule)
{
	if (rule->fp != UNWIND_VALUE_AT_CFA) {
		popped->was_held = false;
		return;
	}
	if (rule->fp_offset != popped->offset) {
		popped->offset = rule->fp_offset;
		popped->was_held = false;
	}
	if (rule->cfa == UNWIND_CFA_SP && (int64_t)rule->cfa_offset + rule->fp_offset < 0) {
		if (!popped->was_held)
			return;
		rule->fp = UNWIND_VALUE_SAME;
		rule->fp_offset = 0;
		rule->flags |= UNWIND_FLAG_MENDED;
		return;
	}
	if (rule->cfa == UNWIND_CFA_SP || rule->cfa == UNWIND_CFA_FP)
		popped->was_held = true;
}
