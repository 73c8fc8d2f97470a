/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the kernel tells of code of its own that comes or goes (PERF_RECORD_KSYMBOL), as a record.
 */
#pragma once

#include "common/source/perf-record.h"
#include "common/stage/stage.h"

/*
 * Sends a record that is whole (perf_record_is_whole()); `time` is that of the stream. 0 or -errno
 * of the output; one whose name has no end is counted as "refused".
 */
int kernel_symbol_put(struct stage *stage, const struct perf_record_ksymbol *record, uint64_t time);
