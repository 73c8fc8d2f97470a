/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Markers of the Firefox Profiler: a thread's table of what is shown beside samples, and the
 * schemas of its data.
 */
#pragma once

#include <stdio.h>

#include "profile/names/used-names.h"
#include "profile/wait-reasons.h"

enum firefox_marker_kind {
	FIREFOX_LOSS, /* the kernel lost records here */
	FIREFOX_WAIT,
	FIREFOX_MARK, /* of a program or the scheduler */
};

struct firefox_marker {
	enum firefox_marker_kind kind;
	uint32_t number; /* index of a loss, sample or mark of the profile */
};

/* Writes the value of meta.markerSchema, once per file. */
void firefox_markers_put_schemas(FILE *out);

/* Writes the table of a thread; `strings` are that thread's. */
void firefox_markers_put(FILE *out, const struct wait_reasons *reasons, struct used_names *strings,
			 const struct firefox_marker *list, size_t n);
