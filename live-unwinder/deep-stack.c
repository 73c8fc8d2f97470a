/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/growing-list.h"
#include "live-unwinder/deep-stack.h"

enum {
	OWN_MAX = 65536, /* bytes before the parts, for the sample's own */
	FIRST_ALLOCATED = 1 << 20,
};

void deep_stack_deinit(struct deep_stack *deep)
{
	free(deep->bytes);
	*deep = (struct deep_stack){ 0 };
}

void deep_stack_forget(struct deep_stack *deep)
{
	deep->n = deep->size = 0;
}

int deep_stack_add(struct deep_stack *deep, const struct wire_stack_part *part)
{
	size_t size = part->bytes.size;
	int r;

	if (!deep->n) {
		deep->tid = part->tid;
		deep->start = part->address;
	}
	if (part->tid != deep->tid || part->address != deep->start + deep->size ||
	    size > DEEP_STACK_MAX - deep->size) {
		deep->n_refused++;
		deep_stack_forget(deep);
		return 0;
	}
	r = GROWING_LIST_RESERVE(deep->bytes, deep->n_allocated, FIRST_ALLOCATED,
				 OWN_MAX + deep->size + size);
	if (r < 0)
		return r;
	memcpy(deep->bytes + OWN_MAX + deep->size, part->bytes.data, size);
	deep->size += size;
	deep->n++;
	return 0;
}

/* Both pieces may overlap; the parts must not begin behind the sample's own. */
static bool continues(const struct deep_stack *deep, const struct wire_sample *sample, uint64_t sp)
{
	return deep->n == sample->stack_parts && deep->tid == sample->tid &&
	       deep->start - sp <= sample->stack.size && deep->start - sp <= OWN_MAX;
}

void deep_stack_join(struct deep_stack *deep, struct wire_sample *sample, uint64_t sp)
{
	size_t n_own = deep->start - sp;

	if (!deep->n && !sample->stack_parts)
		return;
	if (continues(deep, sample, sp)) {
		char *start = deep->bytes + OWN_MAX - n_own;

		memcpy(start, sample->stack.data, n_own);
		sample->stack = (struct wire_blob){ start, n_own + deep->size };
	} else {
		deep->n_refused++;
	}
	deep_stack_forget(deep);
}
