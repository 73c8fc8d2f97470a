/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of a file as samples of the stream, and the events that they are of. */
#pragma once

#include "perfdata-source/replay.h"

/* In front of the first sample. All return 0 or -errno of the output, or -ENOMEM. */
int samples_begin(struct stage *stage, struct perfdata_replay *replay);

/* `time` is that of the stream. */
int samples_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		 uint64_t time);

/* Behind the last one: of how many events there were too many. */
void samples_warn_of_skipped(struct stage *stage, const struct perfdata_replay *replay);
