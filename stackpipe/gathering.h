/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stream that is gathered as a profile: callbacks of stage.h for a state that begins with one. */
#pragma once

#include "profile/profile.h"
#include "stackpipe/messages.h"

struct gathering {
	struct stacks stacks; /* first: see stacks.h */
	struct profile profile;
	struct messages messages;
};

void gathering_init(void *self);
void gathering_deinit(void *self);
int gathering_start(struct stage *stage, void *self, struct wire_hello *hello);
int gathering_handle_lost(struct stage *stage, void *self, const void *view);
int gathering_handle_thread_time(struct stage *stage, void *self, const void *view);
int gathering_handle_message(struct stage *stage, void *self, const void *view);

#define GATHERING_HANDLERS                                                                         \
	STACKS_HANDLERS, { WIRE_RECORD_thread_time, gathering_handle_thread_time },                \
		{ WIRE_RECORD_message, gathering_handle_message },                                 \
	{                                                                                          \
		WIRE_RECORD_lost, gathering_handle_lost                                            \
	}
