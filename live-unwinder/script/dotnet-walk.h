/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of .NET, in the frames of their code. */
#pragma once

#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* The trait of records of code (code-table.h); 0: damaged. */
uint64_t dotnet_code_trait(const struct wire_memory *record);

/* Reads the walk of a sample. */
enum script_outcome dotnet_walk_read(const struct code_table *codes,
				     const struct wire_sample *sample, struct script_stack *ret);
