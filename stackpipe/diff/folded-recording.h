/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts the functions of any recording, whose stacks capture-sink folds. */
#pragma once

#include "stackpipe/diff/folded-counts.h"

/*
 * Reads one side of a comparison. `heap`: amount of a heap (capture-sink --heap), or NULL. Returns
 * an exit status; errors are reported in the name of `command`.
 */
int folded_recording_read(struct folded_counts *counts, const char *path, int side,
			  const char *command, const char *heap);
