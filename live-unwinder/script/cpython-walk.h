/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of CPython 3.11 and later executes, by the walk of a sample: segments of frames,
 * each of which one activation of the interpreter's loop runs. Its C frame has something of the
 * segment: the frame that C has called (3.12 and later), or the list of such frames (up to 3.12).
 * For some instructions of each call or yield the lists are between two states; rules tell those
 * apart, and then the sample has no frames of the script.
 */
#pragma once

#include "common/script/runtime-table.h"
#include "live-unwinder/walk/code-table.h"
#include "live-unwinder/walk/script-stack.h"

/* The walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome cpython_walk_read(const struct cpython_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret);
