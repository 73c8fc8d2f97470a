/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The head of a perf.data file (tools/perf/Documentation/perf.data-file-format.txt): events, and
 * "features" that describe the host. A damaged or unknown feature does not affect the others.
 */
#pragma once

#include "common/wire/wire.h"
#include "perfdata-source/events.h"
#include "perfdata-source/input.h"

enum {
	HEADER_FEATURE_MAX = 16 * 1024 * 1024, /* bytes; larger ones are skipped */
	HEADER_BUILD_IDS_MAX = 1 << 16,
	BUILD_ID_BYTES = 20,
};

/* tools/perf/util/header.h, enum */
enum {
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_OSRELEASE = 4,
	FEATURE_ARCH = 6,
	FEATURE_NRCPUS = 7,
	FEATURE_EVENT_DESC = 12,
	FEATURE_SAMPLE_TIME = 21,
	FEATURE_DIR_FORMAT = 24,
	FEATURE_COMPRESSED = 27,
	FEATURE_BITS = 256,
};

struct header_build_id {
	bool is_kernel;
	uint8_t size, bytes[BUILD_ID_BYTES];
	char *path;
};

struct perf_header {
	bool is_pipe;
	uint64_t data_at, data_size; /* not of a pipe */
	struct perf_events events;
	struct header_build_id *build_ids;
	size_t n_build_ids;
	char host[64], os_release[64], arch[32];
	uint32_t n_cpus;
	uint64_t first_time; /* of the first sample; 0: unknown */
	bool is_directory;   /* samples are in files beside this one */
	bool is_zstd;
	const char *compression; /* with E_COMPRESSED: program that decompresses the file */
	uint64_t n_skipped;	 /* damaged or too large features and build-ids */
};

/* Reads the head, up to the first record. 0, a positive outcome, or -errno. */
int header_read(struct perf_header *header, struct input *input);
void header_deinit(struct perf_header *header);

/* In pipe mode records replace the head: PERF_RECORD_HEADER_ATTR, _FEATURE, _BUILD_ID. */
int header_take_attr(struct perf_header *header, const struct perf_event_header *record);
void header_take_feature(struct perf_header *header, const struct perf_event_header *record);
void header_take_build_id(struct perf_header *header, const uint8_t *record, size_t size);

/* NULL: none is recorded. */
const struct header_build_id *header_find_build_id(const struct perf_header *header,
						   const char *path);
