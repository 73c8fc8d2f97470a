/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file format is, and the table of all of them (format-list.h). */
#pragma once

#include "formats/export.h"
#include "formats/format-list.h"
#include "formats/stream-format.h"
#include "profile/recorder.h"

struct format {
	const char *lacks;  /* what it cannot hold of a recording; NULL: nothing much */
	unsigned wants;	    /* of a stream, beside stacks: enum recorder_wants */
	bool keeps_history; /* of a heap, what was alive at any time */
	bool is_of_counts;  /* its samples are the stacks of view-counts.h: all are to be kept */
	/* One of the two: writes a recording that has ended, 0 or -errno; or follows the stream. */
	int (*write)(const struct export *export);
	const struct stream_format *stream;
};

#define FORMAT_EXTERN_(symbol, name) extern const struct format format_##symbol;
FORMATS(FORMAT_EXTERN_, FORMAT_EXTERN_, FORMAT_EXTERN_)

/* The format of that name, or of a file's name; NULL: there is none. */
const struct format *format_find(const char *name);
const struct format *format_of_path(const char *path);

const char *format_name(const struct format *format);
