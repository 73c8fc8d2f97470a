/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Emits samples of a file, and the events that they are of. */
#pragma once

#include "perfdata-source/replay.h"

/* Call before the first sample. All functions return 0, -errno of the output, or -ENOMEM. */
int samples_begin(struct stage *stage, struct perfdata_replay *replay);

/* `time`: of the stream. */
int samples_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		 uint64_t time);

/* Call after the last sample: warns of events beyond the limit. */
void samples_warn_of_skipped(struct stage *stage, const struct perfdata_replay *replay);
