/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage's work: perf's records, in the order of their times, as perf-source would have sent
 * them. */
#pragma once

#include "common/source/images.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "perfdata-source/group-values.h"
#include "perfdata-source/header.h"
#include "perfdata-source/kernel-names.h"
#include "perfdata-source/order.h"
#include "perfdata-source/records.h"
#include "perfdata-source/stack-reference.h"

enum { REPLAY_FILES_MAX = 4096 }; /* of a recording by several threads */

/* What samples are, as they go on. */
struct samples {
	/* Of each number of an event (events.h) that of the stream, from 1 on; 0: not told yet. */
	uint8_t stream_number[EVENTS_MAX];
	uint32_t n_emitted, n_skipped; /* events */
	uint64_t n_samples_skipped;
	struct group_values values;
};

/* One file of records. */
struct replay_file {
	struct input input;
	struct records records;
	uint64_t last_time; /* of its records so far: the latest one's, and that read before */
	uint64_t previous_time;
	bool is_over;
};

struct perfdata_replay {
	const char *path;
	bool copies_stacks;	 /* into the stream, wherever they could be had from */
	struct replay_file file; /* the one with the header */
	struct stack_reference stack_reference;
	struct replay_file *more;
	size_t n_more;
	struct perf_header header;
	struct order order;
	struct images images;
	struct processes processes;
	struct samples samples;
	uint64_t n_lost_emitted, n_lost; /* PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
	int early_outcome;		 /* of what was read before the hello */
	bool has_host;			 /* the file was recorded by this very kernel */
	struct kernel_names kernel_names;
};

/* What stage.h asks for; `data` is a struct perfdata_replay. */
int replay_open(struct stage *stage, void *data);
int replay_start(struct stage *stage, void *data, struct wire_hello *hello);
int replay_run(struct stage *stage, void *data);
void replay_deinit(void *data);
