/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of a sample in a Sysprof capture, which is a list of addresses: marks of the kernel's
 * side, inlined calls and why it ends, all as made-up addresses, become frames again.
 */
#pragma once

#include "capture-source/replay.h"

struct replayed_process {
	struct location_process process;
	bool has_exited;
	uint64_t heap_begun; /* the number of its incarnation whose heap has been told of */
};

struct taking;

/* 0 or -errno; to be freed in any case. `replay` is borrowed. */
int taking_new(struct replay *replay, struct taking **ret);
void taking_free(struct taking *taking);

/*
 * The frames of a stack, until the next one is taken, and why they end (enum wire_stack_end); its
 * addresses are those of `frame`, in the file. Tells the names that are met for the first time. 0
 * or -errno.
 */
int taking_take(struct taking *taking, struct replayed_process *process,
		const struct syscap_frame *frame, const uint64_t *addresses, size_t n_addresses,
		struct wire_frames *ret, uint32_t *ret_end);
