/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a scheduler of BEAM executes: the functions of an Erlang process, by the return addresses on
 * its own stack.
 */
#pragma once

#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/*
 * Reads the walk of a sample, whose C frames end where the process's code has called C, or with
 * that code.
 */
enum script_outcome beam_walk_read(const struct beam_fields *fields, const struct code_table *codes,
				   const struct script_thread *thread, struct script_stack *ret);
