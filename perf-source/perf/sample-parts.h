/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The thread's context and the parts of its stack, which our BPF program emits in front of the
 * sample that they belong to, in the same interrupt and the same ring. A sample takes what is
 * before it if that is of its thread and its stack pointer. Of lost samples and lost parts nothing
 * is left for a later sample: a loss clears the parts of its ring.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/source/perf-record.h"
#include "common/stage/stage.h"
#include "perf-source/bpf/sample-part.h"
#include "perf-source/perf/ring.h"

/* Those of one CPU that wait for their sample. They stay in the ring, which holds them. */
struct sample_parts {
	const struct sample_part *context, *walk, *words, *stack; /* NULL: none */
	const struct sample_part **deeper;
	size_t n, n_allocated; /* of `deeper` */
	uint32_t tid;
	uint64_t sp, end; /* of the sample; of the parts of its stack so far */
	uint32_t cut;	  /* enum wire_stack_cut; 0: it is no deep stack, or more follow */
	uint32_t last;	  /* enum sample_part_kind */
};

void sample_parts_deinit(struct sample_parts *parts);

/* Takes a record of the event SAMPLE_PARTS. 0 or -ENOMEM. */
int sample_parts_take(struct sample_parts *parts, struct ring *ring,
		      const struct perf_record_raw *record);

void sample_parts_clear(struct sample_parts *parts, struct ring *ring);

/* Whether the parts are those of a sample. */
bool sample_parts_are_of(const struct sample_parts *parts, uint32_t tid, uint64_t sp);

/* Emits the parts of a deep stack. 0 or -errno of the output. */
int sample_parts_put(const struct sample_parts *parts, struct stage *stage);

/* The part in a record; NULL: it is damaged. */
const struct sample_part *sample_part_of(const struct perf_record_raw *record);
