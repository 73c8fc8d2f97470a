/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns a sample of the kernel into a `sample` record of the stream. */
#pragma once

#include "common/source/perf-record.h"
#include "common/source/processes.h"
#include "common/stage/stage.h"
#include "perf-source/perf/sample-parts.h"

/* A thread's context at a sample, and what it executes, in a ring or in memory of its owner. */
struct sample_context {
	const void *bytes, *walk;
	size_t size, walk_size;
	uint32_t state;	   /* enum wire_context_state; 0: it was not looked for */
	uint32_t walk_end; /* enum wire_walk_end, of a walk that was not made */
};

/* What the kernel's record lacks: what the sample is of. */
struct sample_of_event {
	uint32_t event; /* event number */
	uint64_t weight;
	uint32_t flags;		       /* enum wire_sample_flags */
	uint32_t waker_pid, waker_tid; /* of a wait; 0: unknown */
	struct sample_context context;
	const struct sample_parts *parts; /* of it; NULL: none */
};

/* Emits a sample, and before it what readers need of its process. 0 or -errno of the output. */
int sample_put(struct stage *stage, struct processes *processes,
	       const struct perf_record_sample *sample, uint64_t time,
	       const struct sample_of_event *of);
