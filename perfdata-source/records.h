/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of a file in order, decompressing those that perf has compressed. */
#pragma once

#include <linux/perf_event.h>

#include "perfdata-source/input.h"

/* tools/lib/perf/include/perf/event.h; types from 64 on are perf's, not the kernel's. */
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
	RECORDS_PLAIN_MAX = 64 * 1024 * 1024, /* bytes of one record; more is refused */
	RECORDS_WINDOW_LOG_MAX = 27,	      /* zstd's default limit */
};

struct records {
	struct input *input;	     /* borrowed */
	struct ZSTD_DCtx_s *decoder; /* one zstd stream spans all records */
	uint8_t *plain;		     /* decompressed; a record may continue in the next one */
	size_t start, end, n_allocated;
	bool is_lasting; /* the last record's bytes stay valid and unchanged */
};

void records_init(struct records *records, struct input *input);
void records_deinit(struct records *records);

/*
 * Reads the next record; its bytes, unaligned, are valid until the next call. 0, a positive outcome
 * (END behind the last one) or -errno.
 */
int records_next(struct records *records, struct perf_event_header *ret, const uint8_t **ret_bytes);
