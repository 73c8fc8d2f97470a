/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread of CPython executes, by the walk of a sample: segments of frames, each of which one
 * activation of the interpreter's loop runs. Its C frame has something of the segment: the frame
 * that C has called (3.12 and later), or the list of such frames (up to 3.12). For some
 * instructions of each call or yield the lists are between two states; rules tell those apart, and
 * then the sample has no frames of the script.
 */
#pragma once

#include "common/stream/runtime-table.h"
#include "live-unwinder/script/code-table.h"

enum { SCRIPT_FRAMES_MAX = 1024 };

struct script_segment {
	uint64_t anchor; /* an address within the C frame of its activation */
	uint32_t n;	 /* frames */
};

/* Innermost first. */
struct script_stack {
	uint64_t places[SCRIPT_FRAMES_MAX]; /* script-place.h */
	size_t n;
	struct script_segment segments[SCRIPT_FRAMES_MAX];
	size_t n_segments;
};

enum script_outcome {
	SCRIPT_WHOLE,
	SCRIPT_LIMIT,	  /* as far as the limit of the walk allows; what is there is true */
	SCRIPT_NO_FRAMES, /* the thread executes nothing */
	SCRIPT_TORN,	  /* the lists were between two states */
	SCRIPT_UNKNOWN,	  /* the stream does not have all of the code */
	SCRIPT_ABSENT,	  /* not all was in memory */
	SCRIPT_BUDGET,	  /* reading had taken too much time */
	SCRIPT_DAMAGED,	  /* the record is no walk */
	/* Of script_merge(). */
	SCRIPT_UNPLACED, /* it does not fit the C frames */
	SCRIPT_CUT,	 /* C frames end before its last ones */
	SCRIPT_OUTCOMES_MAX,
};

/* The walk of a sample of a process with these fields. Without frames `ret` is empty. */
enum script_outcome cpython_walk_read(const struct cpython_fields *fields,
				      const struct code_table *codes,
				      const struct wire_sample *sample, struct script_stack *ret);
