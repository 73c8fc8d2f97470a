/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stackpipe/gathering.h"

static int add_frame(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     const struct wire_frame *frame, const struct frame_name *name,
		     uint64_t *ret_value)
{
	struct gathering *gathering = (void *)stacks;

	return profile_add_frame(&gathering->profile, frame, name, ret_value);
}

static int add_stack(struct stage *stage, struct stacks *stacks, const struct named_stack *stack,
		     uint64_t *ret_node)
{
	struct gathering *gathering = (void *)stacks;

	return profile_add_stack(&gathering->profile, stack, ret_node);
}

static int add_known_stack(struct stage *stage, struct stacks *stacks,
			   const struct named_stack *stack, uint64_t node)
{
	struct gathering *gathering = (void *)stacks;

	return profile_add_known_stack(&gathering->profile, stack, node);
}

void gathering_init(void *self)
{
	static const struct stacks_user user = {
		.add_frame = add_frame,
		.add_stack = add_stack,
		.add_known_stack = add_known_stack,
	};
	struct gathering *gathering = self;

	stacks_init(&gathering->stacks, &user);
}

void gathering_deinit(void *self)
{
	struct gathering *gathering = self;

	messages_deinit(&gathering->messages);
	profile_deinit(&gathering->profile);
	stacks_deinit(&gathering->stacks);
}

int gathering_start(struct stage *stage, void *self, struct wire_hello *hello)
{
	struct gathering *gathering = self;
	int r = stacks_start(&gathering->stacks, hello);

	return r < 0 ? r : profile_init(&gathering->profile, &gathering->stacks);
}

int gathering_handle_lost(struct stage *stage, void *self, const void *view)
{
	struct gathering *gathering = self;

	return profile_add_lost(&gathering->profile, view);
}

int gathering_handle_thread_time(struct stage *stage, void *self, const void *view)
{
	struct gathering *gathering = self;

	return profile_add_thread_time(&gathering->profile, view);
}

int gathering_handle_message(struct stage *stage, void *self, const void *view)
{
	struct gathering *gathering = self;

	return messages_add(&gathering->messages, view);
}
