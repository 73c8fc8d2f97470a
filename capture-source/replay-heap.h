/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts allocations of a Sysprof capture, which has a stack with each, to heap events, and emits
 * each stack once. In captures a realloc is a free and an allocation.
 */
#pragma once

#include "capture-source/replay-sample.h"
#include "common/stream/heap-events.h"
#include "common/stream/stack-memo.h"

struct heap_replay {
	struct stage *stage; /* borrowed */
	struct stack_memo memo;
	uint32_t n_stacks;
	struct heap_event_writer events;
	uint64_t process; /* of the pending events */
};

/* All return 0 or -errno. */
int heap_replay_init(struct heap_replay *heap, struct stage *stage);
void heap_replay_deinit(struct heap_replay *heap);

int heap_replay_take(struct heap_replay *heap, struct taking *taking,
		     struct replayed_process *process, const struct syscap_frame *frame);

/* Sends the pending events; needed before records that must follow them. */
int heap_replay_flush(struct heap_replay *heap);
