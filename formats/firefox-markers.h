/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the Firefox Profiler shows beside samples: a thread's table of markers, with the schemas of
 * what they say.
 */
#pragma once

#include <stdio.h>

#include "profile/used-names.h"
#include "profile/wait-reasons.h"

enum firefox_marker_kind {
	FIREFOX_LOSS, /* here the kernel dropped something */
	FIREFOX_WAIT,
	FIREFOX_MARK, /* of a program, or the scheduler */
};

struct firefox_marker {
	enum firefox_marker_kind kind;
	uint32_t number; /* of the profile's loss, sample or mark */
};

/* Put for each file once, as the value of meta.markerSchema. */
void firefox_markers_put_schemas(FILE *out);

/* The table of a thread; `strings` are that thread's. */
void firefox_markers_put(FILE *out, const struct wait_reasons *reasons, struct used_names *strings,
			 const struct firefox_marker *list, size_t n);
