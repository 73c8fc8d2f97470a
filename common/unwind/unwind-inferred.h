/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules for code that no unwind information describes, made of what else a file has: the code of
 * its PLTs, and what a Go program tells its runtime. Elfutils does not know them:
 * UNWIND_FLAG_INFERRED.
 */
#pragma once

#include "common/unwind/unwind-table.h"

struct unwind_inferred_row {
	uint64_t from, to; /* offsets in the file */
	struct unwind_rule rule;
};

struct unwind_inferred {
	struct unwind_inferred_row *list; /* by `from`; none overlap */
	size_t n;
	struct unwind_inferred_row *better; /* likewise: these hold whatever a description says */
	size_t n_better;
	uint64_t n_refused; /* sections with code that is not known, or lies nowhere in the file */
};

enum {
	UNWIND_INFERRED_MAX = 1 << 22, /* rows of a file; Kubernetes' largest programs have 10^6 */
	UNWIND_INFERRED_BETTER_MAX = 256, /* Go has 20 functions of that kind */
};

/* 0 or -ENOMEM. */
int unwind_inferred_find(const struct unwind_source *source, struct unwind_inferred *ret);
/* The rule that holds at an offset whatever a description says; NULL: there is none. */
const struct unwind_rule *unwind_inferred_better(const struct unwind_inferred *made,
						 uint64_t offset);

void unwind_inferred_deinit(struct unwind_inferred *made);
