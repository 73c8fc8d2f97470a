/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts the stack of a sample in a Sysprof capture, a list of addresses, to frames. Context
 * marks, inlined calls and end reasons are special addresses in it.
 */
#pragma once

#include "capture-source/replay.h"

struct replayed_process {
	struct location_process process;
	bool has_exited;
	uint64_t heap_begun; /* the incarnation whose heap_begin was emitted */
};

struct taking;

/* 0 or -errno; in both cases the caller frees it. `replay` is borrowed. */
int taking_new(struct replay *replay, struct taking **ret);
void taking_free(struct taking *taking);

/*
 * Makes the frames of a stack, valid until the next call, and its end reason (enum wire_stack_end),
 * and emits new names. `addresses` are those of `frame`, in the file. 0 or -errno.
 */
int taking_take(struct taking *taking, struct replayed_process *process,
		const struct syscap_frame *frame, const uint64_t *addresses, size_t n_addresses,
		struct wire_frames *ret, uint32_t *ret_end);
