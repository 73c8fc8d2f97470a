/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a file format is, and lookups in the list of all formats (format-list.h). */
#pragma once

#include "formats/export.h"
#include "formats/format-list.h"
#include "formats/stream-format.h"
#include "profile/recorder.h"

/*
 * A `write` ends with profile_check_sum(). A format that has room for remarks holds those of
 * export_remark(), by which tests compare the accounts of all formats.
 */
struct format {
	const char *lacks; /* parts of a recording that it cannot hold; NULL: nothing important */
	bool is_for_terminals;	 /* lines of text */
	unsigned wants;		 /* records of a stream besides stacks: enum recorder_wants */
	bool keeps_history;	 /* of a heap, the blocks alive over time */
	bool hides_interpreters; /* by default: it is read by people, not by programs */
	bool is_of_counts; /* of view-counts.h, even rare stacks; its profile has no samples */
	/* One is set: writes a finished recording (0 or -errno), or follows the stream. */
	int (*write)(const struct export *export);
	const struct stream_format *stream;
};

#define FORMAT_EXTERN_(symbol, name) extern const struct format format_##symbol;
FORMATS(FORMAT_EXTERN_, FORMAT_EXTERN_, FORMAT_EXTERN_)

/* The format with a name or of a file's path; NULL: none. */
const struct format *format_find(const char *name);
const struct format *format_of_path(const char *path);

const char *format_name(const struct format *format);
