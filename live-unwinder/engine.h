/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an unwinding engine does: a sample in, user frames and the reason of their end out. The
 * engines answer alike; which one did is a matter of statistics only.
 */
#pragma once

#include "common/image-client.h"
#include "common/image-table.h"
#include "common/process-table.h"
#include "common/wire.h"

/* The user side of one sample, and room for its answer. */
struct unwinding {
	const struct wire_sample *sample;
	struct process *process;
	struct wire_frame *frames; /* innermost first */
	size_t n_frames, n_frames_max;
	enum wire_stack_end end;
	const struct image *failed_image; /* that the end is about, or NULL */
};

/* Makes the sampled instruction, which is known even where nothing else is, the only frame. */
void unwinding_add_sampled(struct unwinding *unwinding);
