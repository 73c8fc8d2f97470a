/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How frames of made code without frame pointers are left: by what a sample's walk has found out,
 * where only the process itself knows (script-walk.h); or to an interpreter, if they are small, or
 * are its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/stream/runtime-table.h"
#include "common/wire/wire.h"
#include "live-unwinder/script/walk-view.h"

struct made_calls {
	bool are_told; /* the process has such code, and nothing else tells how it is left */
	struct walk_list_view frames;
	uint64_t interpreter; /* an address in what calls such code; 0: nothing does */
	uint32_t words;	      /* of the stack, that its frames have at most; or */
	bool is_in_loop;      /* it is executed in the frame of the function with that address */
};

/* A frame: what it executes, its stack pointer, and the frame pointer; 0: not known. */
struct made_caller {
	uint64_t pc, sp, fp;
};

/* The frames of a sample, of a process with these fields (NULL: it has none). They refer to it. */
struct made_calls made_calls_of(const struct runtime_fields *fields,
				const struct wire_sample *sample);

/* What has called a frame, of which this is known. False: it is not known. */
bool made_calls_find(const struct made_calls *calls, const struct made_caller *frame,
		     struct made_caller *ret);
