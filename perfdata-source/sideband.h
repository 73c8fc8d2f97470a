/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What happens to processes, and to code of the kernel, from the records of a file. */
#pragma once

#include "perfdata-source/replay.h"

/*
 * Takes one in; `time` is that of the stream. 0 or -errno of the output. What is damaged is counted
 * as "refused".
 */
int sideband_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		  uint64_t time);
