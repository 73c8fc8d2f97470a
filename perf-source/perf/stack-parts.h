/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Parts of a deep stack, which our BPF program emits in front of the sample that they belong to, in
 * the same interrupt and the same ring. A sample takes the parts before it if they are of its
 * thread and its stack pointer. Of lost samples and lost parts nothing is left for a later sample:
 * a loss clears the parts of its ring.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/source/perf-record.h"
#include "common/stage/stage.h"
#include "perf-source/bpf/stack-part.h"
#include "perf-source/perf/ring.h"

/* Those of one CPU that wait for their sample. They stay in the ring, which holds them. */
struct stack_parts {
	const struct stack_part **list;
	size_t n, n_allocated;
	uint32_t tid;
	uint64_t sp, end; /* of the sample; of the parts so far */
	uint32_t cut;	  /* enum wire_stack_cut; 0: none waits, or more follow */
};

void stack_parts_deinit(struct stack_parts *parts);

/* Takes a record of the event STACK_PARTS. 0 or -ENOMEM. */
int stack_parts_take(struct stack_parts *parts, struct ring *ring,
		     const struct perf_record_raw *record);

void stack_parts_clear(struct stack_parts *parts, struct ring *ring);

/* Whether the parts are those of a sample, and continue its stack. */
bool stack_parts_are_of(const struct stack_parts *parts, uint32_t tid, uint64_t sp,
			size_t stack_size);

/* Emits the parts. 0 or -errno of the output. */
int stack_parts_put(const struct stack_parts *parts, struct stage *stage);
