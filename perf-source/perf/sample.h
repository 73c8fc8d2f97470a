/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a sample as the kernel gives it to one as it travels. */
#pragma once

#include "common/source/processes.h"
#include "common/source/perf-record.h"
#include "common/stage/stage.h"

/* What it is a sample of, which the kernel's record does not tell. */
struct sample_of_event {
	uint32_t event; /* its number */
	uint64_t weight;
	uint32_t flags;		       /* enum wire_sample_flags */
	uint32_t waker_pid, waker_tid; /* of a wait; 0: not known */
};

/* Puts a sample, and whatever is to be known of its process before. 0 or -errno of the output. */
int sample_put(struct stage *stage, struct processes *processes,
	       const struct perf_record_sample *sample, uint64_t time,
	       const struct sample_of_event *of);
