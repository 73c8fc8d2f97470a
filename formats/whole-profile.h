/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For formats that are written at the end, of all samples together: the callbacks of capture.h that
 * gather them. The data of such a format is a struct whole_profile.
 */
#pragma once

#include "formats/capture.h"
#include "profile/profile.h"

struct whole_profile {
	struct profile profile;
};

int whole_profile_begin(struct capture *capture);
int whole_profile_add_frame(struct capture *capture, const struct named_stack *stack,
			    const struct wire_frame *frame, const struct frame_name *name,
			    uint64_t *ret_value);
int whole_profile_add_stack(struct capture *capture, const struct named_stack *stack);
int whole_profile_add_heap_stack(struct capture *capture, const struct named_stack *stack,
				 const struct wire_heap_stack *record);
int whole_profile_add_lost(struct capture *capture, const struct wire_lost *lost);
int whole_profile_add_mark(struct capture *capture, const struct wire_mark *mark);
int whole_profile_add_counter(struct capture *capture, const struct wire_counter *counter);
int whole_profile_add_counter_values(struct capture *capture,
				     const struct wire_counter_values *values);
void whole_profile_free(struct capture *capture);

/*
 * At the end: names are what they mean, and of a heap the samples are its stacks, and weigh what is
 * asked for (capture.heap_metric). 0 or -ENOMEM.
 */
int whole_profile_settle(struct capture *capture);

/* All that was gathered. */
struct profile *whole_profile_get(struct capture *capture);

#define WHOLE_PROFILE_CALLBACKS                                                                    \
	.data_size = sizeof(struct whole_profile), .begin = whole_profile_begin,                   \
	.add_frame = whole_profile_add_frame, .add_stack = whole_profile_add_stack,                \
	.add_heap_stack = whole_profile_add_heap_stack, .add_lost = whole_profile_add_lost,        \
	.free = whole_profile_free

/* One line on what was lost, and how stacks ended, by number; false: there is no such line. */
bool whole_profile_remark(const struct capture *capture, enum stage_stream_end end, uint32_t number,
			  char *ret, size_t size);
