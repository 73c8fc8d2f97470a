/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A recording of any kind as counts of its functions: capture-sink folds its stacks. */
#pragma once

#include "stackpipe/diff/folded-counts.h"

/*
 * Reads one side of a comparison. `heap`: which amounts of a heap (capture-sink --heap), or NULL.
 * An exit status; what went wrong has been said in the name of `command`.
 */
int folded_recording_read(struct folded_counts *counts, const char *path, int side,
			  const char *command, const char *heap);
