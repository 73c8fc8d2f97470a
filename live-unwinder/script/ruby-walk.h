/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of Ruby executes: an array of frames, of which those with FINISH end what one
 * activation of the loop executes. C functions have frames, too, which are left out.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* What a recorded body has: where its code begins, as far as places need it; 0: it is none. */
uint64_t ruby_code_begin(const struct ruby_fields *fields, const struct wire_memory *record);

/* Reads the walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome ruby_walk_read(const struct ruby_fields *fields, const struct code_table *codes,
				   const struct wire_sample *sample, struct script_stack *ret);
