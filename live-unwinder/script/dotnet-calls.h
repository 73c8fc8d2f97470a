/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How frames of .NET's managed code are left: by what a sample's walk has found of the code that
 * its stack's words lead to (script-walk.h).
 */
#pragma once

#include "common/elf/elf-cache.h"
#include "common/stream/process-table.h"
#include "live-unwinder/script/dotnet-code.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/walk-view.h"

/* What a sample's frames are of. `codes` learns what is in files. */
struct made_code_context {
	struct code_table *codes;
	struct elf_cache *files;
	const struct process *process;
};

struct dotnet_calls {
	struct made_code_context context; /* `codes` NULL: the process has no .NET */
	const struct wire_sample *sample;
	uint64_t stack_start;
	struct walk_list_view returns, executed;
	size_t next; /* the first element of `returns` that may be a frame's */
};

/* Of a sample whose stack begins at `sp`. */
struct dotnet_calls dotnet_calls_of(const struct made_code_context *context,
				    const struct wire_sample *sample, uint64_t sp);

/* Whether a frame is one of managed code. */
bool dotnet_calls_have(struct dotnet_calls *calls, uint64_t pc, uint64_t sp);

/*
 * Whether what is executed may be code of the runtime between two methods: that has no frame, and
 * goes on to a method, or returns to the one that has called it.
 */
bool dotnet_calls_have_stub(const struct dotnet_calls *calls, uint64_t sp);

/* As made_calls_find(). */
bool dotnet_calls_find(struct dotnet_calls *calls, const struct made_caller *frame,
		       struct made_caller *ret);
