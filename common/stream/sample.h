/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields that a sample and the stack made of it have in common. */
#pragma once

#include "common/wire/wire.h"

/* Copies everything except frames, end reason and trace context, which the caller fills in. */
static inline struct wire_stack wire_stack_of_sample(const struct wire_sample *sample)
{
	return (struct wire_stack){
		.time = sample->time,
		.process = sample->process,
		.tid = sample->tid,
		.cpu = sample->cpu,
		.weight = sample->weight,
		.event = sample->event,
		.flags = sample->flags,
		.waker = sample->waker,
		.waker_tid = sample->waker_tid,
	};
}
