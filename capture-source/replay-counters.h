/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts counters of a Sysprof capture to a stream's: new numbers, doubles as hundredths. */
#pragma once

#include "common/base/pair-map.h"
#include "common/stage/stage.h"
#include "common/stream/syscap-format.h"

enum { REPLAY_COUNTERS_MAX = 1024 };

struct replay_counters {
	struct pair_map numbers; /* (id in the file, 0) → number << 1 | is a double */
	uint32_t n;
};

void replay_counters_init(struct replay_counters *counters);
void replay_counters_deinit(struct replay_counters *counters);

/* Each takes a complete frame: 0 or -errno. `is_ours`: the capture is from stackpipe. */
int replay_counters_define(struct replay_counters *counters, struct stage *stage,
			   const struct syscap_counters_frame *frame, bool is_ours);
int replay_counters_set(struct replay_counters *counters, struct stage *stage,
			const struct syscap_counter_values_frame *frame);

/* Whether everything that a frame refers to is within it. */
bool replay_counters_is_whole(const struct syscap_frame *frame);
