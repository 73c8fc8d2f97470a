/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of a sample and the parts that precede it (stack_part records), as one piece. Parts
 * count only for the sample directly behind them, and only if all of them are there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/wire/wire.h"

enum { DEEP_STACK_MAX = 128 << 20 }; /* bytes of parts */

struct deep_stack {
	char *bytes; /* room for the sample's own part, and the parts */
	size_t n_allocated;
	size_t size; /* of the parts so far */
	uint64_t start;
	uint32_t tid;
	uint32_t n;	    /* parts so far */
	uint64_t n_refused; /* parts that do not continue the one before, or are too many */
};

void deep_stack_deinit(struct deep_stack *deep);

/* Adds a part. 0 or -ENOMEM. */
int deep_stack_add(struct deep_stack *deep, const struct wire_stack_part *part);

/* Forgets the parts before a sample that has no stack. */
void deep_stack_forget(struct deep_stack *deep);

/*
 * Continues the stack of a sample, whose stack pointer is `sp`, by the parts before it, and forgets
 * them. The sample's blob then refers to `deep`.
 */
void deep_stack_join(struct deep_stack *deep, struct wire_sample *sample, uint64_t sp);
