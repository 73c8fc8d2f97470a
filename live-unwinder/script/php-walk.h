/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of PHP 8 executes, by the walk of a sample: a list of calls (zend_execute_data) of
 * functions of the script, each of whose segments an activation of execute_ex() executes, and of
 * functions that are compiled into PHP or an extension.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* Whether a recorded function is the script's or compiled, as its trait; 0: it is neither. */
uint64_t php_function_kind(const struct php_fields *fields, const struct wire_memory *record);

/* The walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome php_walk_read(const struct php_fields *fields, const struct code_table *codes,
				  const struct wire_sample *sample, struct script_stack *ret);
