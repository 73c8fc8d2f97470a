/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules for code without unwind information, inferred from the code of PLTs and from what a Go
 * program has for its runtime. elfutils lacks them: UNWIND_FLAG_INFERRED.
 */
#pragma once

#include "common/unwind/unwind-table.h"

struct unwind_inferred_row {
	uint64_t from, to; /* offsets in the file */
	struct unwind_rule rule;
};

struct unwind_inferred {
	struct unwind_inferred_row *list; /* sorted by `from`; none overlap */
	size_t n;
	struct unwind_inferred_row *better; /* unsorted; these override all FDEs */
	size_t n_better;
	uint64_t n_refused; /* unknown PLT code, code outside the file, rows at a limit */
};

enum {
	UNWIND_INFERRED_MAX = 1 << 22, /* rows of a file; Kubernetes' largest programs have 10^6 */
	UNWIND_INFERRED_BETTER_MAX = 256, /* Go has 20 such functions */
};

/* 0 or -ENOMEM. */
int unwind_inferred_find(const struct unwind_source *source, struct unwind_inferred *ret);
/* The rule that overrides any FDE at an offset; NULL: there is none. */
const struct unwind_rule *unwind_inferred_better(const struct unwind_inferred *made,
						 uint64_t offset);

void unwind_inferred_deinit(struct unwind_inferred *made);
