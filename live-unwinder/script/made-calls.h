/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How frames of made code without frame pointers are left: by what a sample's walk has found out,
 * where only the process itself knows (script-walk.h); or to an interpreter, if they are small, or
 * are its own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/script/runtime-table.h"
#include "common/wire/wire.h"
#include "live-unwinder/script/dotnet-calls.h"
#include "live-unwinder/script/luajit-calls.h"
#include "live-unwinder/walk/walk-view.h"

struct made_calls {
	bool are_told; /* the process has such code, and nothing else tells how it is left */
	struct walk_list_view frames;
	uint64_t interpreter; /* an address in what calls such code; 0: nothing does */
	uint32_t words;	      /* of the stack, that its frames have at most; or */
	bool is_in_loop;      /* it is executed in the frame of the function with that address */
	struct luajit_calls luajit;
	struct dotnet_calls dotnet;
};

/*
 * The frames of a sample, whose stack begins at `sp`, of a process with these fields (NULL: it has
 * none). They refer to all of these.
 */
struct made_calls made_calls_of(const struct runtime_fields *fields,
				const struct made_code_context *context,
				const struct wire_sample *sample, uint64_t sp);

/* Whether only this tells how code of a file is left, too. */
static inline bool made_calls_have(const struct made_calls *calls, uint64_t code)
{
	return luajit_calls_have(&calls->luajit, code);
}

/* Whether a frame is one of made code that the sample itself describes. */
static inline bool made_calls_have_frame(struct made_calls *calls, uint64_t pc, uint64_t sp)
{
	return dotnet_calls_have(&calls->dotnet, pc, sp);
}

/* Whether the innermost frame, without unwind information, may be one without a frame. */
static inline bool made_calls_have_stub(const struct made_calls *calls, uint64_t sp)
{
	return dotnet_calls_have_stub(&calls->dotnet, sp);
}

/* What has called a frame, of which this is known. False: it is not known. Called in their order.
 */
bool made_calls_find(struct made_calls *calls, const struct made_caller *frame,
		     struct made_caller *ret);
