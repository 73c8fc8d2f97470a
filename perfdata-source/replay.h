/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stage's work: emits perf's records in order of time, as perf-source would have done. */
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

enum { REPLAY_FILES_MAX = 4096 }; /* of a recording by several perf threads */

/* State of emitting samples. */
struct samples {
	/* By event number (events.h): number in the stream + 1; 0: not emitted yet. */
	uint8_t stream_number[EVENTS_MAX];
	uint32_t n_emitted, n_skipped; /* numbers of events */
	uint64_t n_samples_skipped;
	struct group_values values;
};

/* One file of records. */
struct replay_file {
	struct input input;
	struct records records;
	uint64_t last_time; /* latest time of its records; that of the previous record */
	uint64_t previous_time;
	bool is_over;
};

struct perfdata_replay {
	const char *path;
	bool copies_stacks;	 /* --copy-stacks: never refer to the file */
	struct replay_file file; /* the file with the header */
	struct stack_reference stack_reference;
	struct replay_file *more;
	size_t n_more;
	struct perf_header header;
	struct order order;
	struct images images;
	struct processes processes;
	struct samples samples;
	uint64_t n_lost_emitted, n_lost; /* from PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
	int early_outcome;		 /* of reading before the hello */
	bool has_host;			 /* recorded on this host by the same kernel release */
	struct kernel_names kernel_names;
};

/* Callbacks of stage.h; `data` is a struct perfdata_replay. */
int replay_open(struct stage *stage, void *data);
int replay_start(struct stage *stage, void *data, struct wire_hello *hello);
int replay_run(struct stage *stage, void *data);
void replay_deinit(void *data);
