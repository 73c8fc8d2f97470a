/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "formats/export.h"

bool export_remark(const struct export *export, uint32_t number, char *ret, size_t size)
{
	const struct stacks *stacks = export->profile->stacks;
	char forgers[HEAP_FORGERS_TEXT];

	if (number == 0) {
		snprintf(ret, size, "stackpipe %s of host %s%s", STACKPIPE_VERSION,
			 stacks->hello.host,
			 export->is_whole ? "" : "; INCOMPLETE: the stream ended early");
		return true;
	}
	if (export->heap && export->heap->n_forgers && number-- == 1) {
		snprintf(ret, size, HEAP_FORGED, heap_forgers_text(export->heap, forgers));
		return true;
	}
	if (number == 1) {
		snprintf(ret, size, "lost: %" PRIu64, stacks->n_lost);
		if (stacks->n_skipped)
			snprintf(ret, size, "lost: %" PRIu64 "; left out: %" PRIu64, stacks->n_lost,
				 stacks->n_skipped);
		return true;
	}
	for (uint32_t i = 0; i < STACKS_ENDS; i++) {
		if (!stacks->n_ends[i] || number-- > 2)
			continue;
		snprintf(ret, size, "%s: %" PRIu64, stacks_end_name(i), stacks->n_ends[i]);
		return true;
	}
	return false;
}
