/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rules for code that no unwind information describes, made of what else a file has: the code of
 * its PLTs. Elfutils does not know them: UNWIND_FLAG_MENDED.
 */
#pragma once

#include "common/unwind-table.h"

struct unwind_made_row {
	uint64_t from, to; /* offsets in the file */
	struct unwind_rule rule;
};

struct unwind_made {
	struct unwind_made_row *list; /* by `from`; none overlap */
	size_t n, n_allocated;
	uint64_t n_refused; /* sections with code that is not known, or lies nowhere in the file */
};

/* 0 or -ENOMEM. */
int unwind_made_find(const struct unwind_source *source, struct unwind_made *ret);
void unwind_made_deinit(struct unwind_made *made);
