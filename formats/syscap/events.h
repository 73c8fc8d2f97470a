/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a Sysprof capture represents several events, so that Sysprof shows them and capture-source
 * reads them back. Stacks of all events but the first have "[EVENT]" as their outermost frame, and
 * are preceded by a mark with their weight. The events themselves are metadata.
 */
#pragma once

#include "formats/syscap/frames.h"
#include "profile/events.h"

/* A thread by the capture's numbers; `tid` 0: not known. */
struct syscap_thread {
	int32_t pid, tid;
};

/* Writes the mark of a stack of thread (`when.pid`, `tid`). 0 or -errno of the output. */
int syscap_put_event_mark(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  struct syscap_thread waker, const struct events *events,
			  const struct wire_stack *stack);

/* "[off-cpu]" */
void syscap_event_frame(const struct events *events, uint32_t event, char *ret, size_t size);

/* "on-cpu nanoseconds cpu-clock", for the metadata "stackpipe.event.0". */
void syscap_event_text(const struct event_info *event, char *ret, size_t size);
