/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of Perl executes: stacks, each an array of contexts, of which those of subs, and of
 * evals of a text, execute something. One that C has called has nothing to return to.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* What a recorded object is: a sub, or a position (COP), with its line; 0: it is neither. */
uint64_t perl_object_of(const struct perl_fields *fields, const struct wire_memory *record);

/* Reads the walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome perl_walk_read(const struct perl_fields *fields, const struct code_table *codes,
				   const struct wire_sample *sample, struct script_stack *ret);
