/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes and kernel code, from a file's side-band records. */
#pragma once

#include "perfdata-source/replay.h"

/*
 * Takes a record; `time`: of the stream. 0 or -errno of the output. Counts damaged ones: "refused".
 */
int sideband_take(struct stage *stage, struct perfdata_replay *replay, const struct ordered *record,
		  uint64_t time);
