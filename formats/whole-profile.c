/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/whole-profile.h"

static struct profile *profile_of(struct capture *capture)
{
	struct whole_profile *self = capture->format_data;

	return &self->profile;
}

int whole_profile_begin(struct capture *capture)
{
	capture->stacks.names.keeps_lines = true;
	return profile_init(profile_of(capture), &capture->stacks);
}

int whole_profile_add_frame(struct capture *capture, const struct named_stack *stack,
			    const struct wire_frame *frame, const struct frame_name *name,
			    uint64_t *ret_value)
{
	return profile_add_frame(profile_of(capture), frame, name, ret_value);
}

int whole_profile_add_stack(struct capture *capture, const struct named_stack *stack)
{
	uint64_t node;

	return profile_add_stack(profile_of(capture), stack, &node);
}

int whole_profile_add_heap_stack(struct capture *capture, const struct named_stack *stack,
				 const struct wire_heap_stack *record)
{
	return heap_profile_add_stack(&capture->heap, profile_of(capture), stack, record);
}

int whole_profile_add_lost(struct capture *capture, const struct wire_lost *lost)
{
	return profile_add_lost(profile_of(capture), lost);
}

int whole_profile_add_mark(struct capture *capture, const struct wire_mark *mark)
{
	return profile_add_mark(profile_of(capture), mark);
}

int whole_profile_add_counter(struct capture *capture, const struct wire_counter *counter)
{
	return profile_add_counter(profile_of(capture), counter);
}

int whole_profile_add_counter_values(struct capture *capture,
				     const struct wire_counter_values *values)
{
	return profile_add_counter_values(profile_of(capture), values);
}

void whole_profile_free(struct capture *capture)
{
	profile_deinit(profile_of(capture));
}

int whole_profile_settle(struct capture *capture)
{
	struct profile *profile = profile_of(capture);
	int r = profile_settle(profile, capture->stage);

	if (r == 0 && heap_is_there(&capture->heap))
		r = heap_profile_select(&capture->heap, profile, capture->heap_metric,
					capture->heap_unit);
	return r;
}

struct profile *whole_profile_get(struct capture *capture)
{
	return profile_of(capture);
}

bool whole_profile_remark(const struct capture *capture, enum stage_stream_end end, uint32_t number,
			  char *ret, size_t size)
{
	const struct stacks *stacks = &capture->stacks;
	const char *name;
	char forgers[HEAP_FORGERS_TEXT];

	if (number == 0) {
		snprintf(ret, size, "stackpipe %s of host %s%s", STACKPIPE_VERSION,
			 stacks->hello.host,
			 end == STAGE_STREAM_WHOLE ? "" : "; INCOMPLETE: the stream was cut");
		return true;
	}
	if (capture->heap.n_forgers && number-- == 1) {
		snprintf(ret, size, HEAP_FORGED, heap_forgers_text(&capture->heap, forgers));
		return true;
	}
	if (number == 1) {
		snprintf(ret, size, "lost: %" PRIu64, stacks->n_lost);
		if (stacks->n_left_out)
			snprintf(ret, size, "lost: %" PRIu64 "; left out: %" PRIu64, stacks->n_lost,
				 stacks->n_left_out);
		return true;
	}
	for (uint32_t i = 0; i < STACKS_ENDS; i++) {
		name = stacks_end_name(i);
		if (!stacks->n_ends[i] || number-- > 2)
			continue;
		snprintf(ret, size, "%s: %" PRIu64, name, stacks->n_ends[i]);
		return true;
	}
	return false;
}
