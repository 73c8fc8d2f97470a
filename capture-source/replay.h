/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays a capture as a stream; its first bytes show its format. */
#pragma once

#include "capture-source/bundle.h"
#include "capture-source/capture-file.h"
#include "capture-source/locations.h"
#include "capture-source/replay-contexts.h"
#include "capture-source/replay-counters.h"
#include "capture-source/syscap-file.h"
#include "common/stream/kallsyms.h"

struct replay {
	const char *path; /* first, because the options set it */
	struct capture_file file;
	bool is_folded;
	struct locations locations;
	struct stage *stage;
	/* Of a Sysprof capture. */
	struct syscap_file syscap;
	struct bundle bundle;
	struct kallsyms kallsyms;
	struct taking *taking;	      /* see replay-sample.h */
	struct heap_replay *heap;     /* see replay-heap.h */
	struct replay_events *events; /* see replay-events.h */
	struct replay_counters counters;
	struct replay_contexts contexts;
	struct pair_map names;	   /* (PID in the file, 0) → item with its first name */
	struct pair_map processes; /* (PID in the file, 0) → struct replayed_process * */
	bool is_ours;		   /* written by stackpipe */
	uint64_t period;	   /* nanoseconds that a sample stands for; 0: not known */
};

/* Callbacks of stage.h. */
int replay_open(struct stage *stage, void *self);
int replay_start(struct stage *stage, void *self, struct wire_hello *hello);
int replay_run(struct stage *stage, void *self);
void replay_deinit(void *self);

/* For each format: `start` fills in the hello, `run` sends everything else. 0 or -errno. */
int replay_syscap_start(struct stage *stage, struct replay *replay, struct wire_hello *hello);
int replay_syscap_run(struct stage *stage, struct replay *replay);
void replay_syscap_deinit(struct replay *replay);
int replay_folded_run(struct stage *stage, struct replay *replay);
