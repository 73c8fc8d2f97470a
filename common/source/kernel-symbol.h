/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Emits the kernel's reports of its own code that appears or disappears (PERF_RECORD_KSYMBOL). */
#pragma once

#include "common/source/perf-record.h"
#include "common/stage/stage.h"

/*
 * `record` is whole (perf_record_is_whole()); `time` is the stream's. 0 or -errno of the output; a
 * record whose name is not terminated is counted as "refused".
 */
int kernel_symbol_put(struct stage *stage, const struct perf_record_ksymbol *record, uint64_t time);
