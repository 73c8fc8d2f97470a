/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a file one after the other, those that perf has compressed among them. */
#pragma once

#include <linux/perf_event.h>

#include "perfdata-source/input.h"

/* tools/lib/perf/include/perf/event.h; types from 64 on are perf's own, not the kernel's */
enum {
	RECORD_HEADER_ATTR = 64,
	RECORD_TRACING_DATA = 66,
	RECORD_BUILD_ID = 67,
	RECORD_FINISHED_ROUND = 68,
	RECORD_AUXTRACE = 71,
	RECORD_FEATURE = 80,
	RECORD_COMPRESSED = 81,
	RECORD_COMPRESSED2 = 83,
};

enum {
	RECORDS_PLAIN_MAX = 64 * 1024 * 1024, /* decompressed of one record; more is refused */
	RECORDS_WINDOW_LOG_MAX = 27,	      /* zstd's own limit without being asked */
};

struct records {
	struct input *input;	     /* borrowed */
	struct ZSTD_DCtx_s *decoder; /* one stream from the first record to the last */
	uint8_t *plain;		     /* decompressed; a record may go on in the next one */
	size_t start, end, n_allocated;
	bool is_lasting; /* the last record's bytes stay as and where they are */
};

void records_init(struct records *records, struct input *input);
void records_deinit(struct records *records);

/*
 * The next record; its bytes, not aligned, are there until the next call. A positive outcome (END
 * behind the last one) or -errno.
 */
int records_next(struct records *records, struct perf_event_header *ret, const uint8_t **ret_bytes);
