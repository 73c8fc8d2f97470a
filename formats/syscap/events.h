/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a Sysprof capture has of several events, in a form that Sysprof shows and capture-source
 * reads back: a stack of another event than the first has "[EVENT]" as its outermost frame, and a
 * mark in front of it that tells what it weighs; the events themselves are metadata.
 */
#pragma once

#include "formats/syscap/frames.h"
#include "profile/events.h"

/* A thread, by the numbers of the capture; `tid` 0: not known. */
struct syscap_thread {
	int32_t pid, tid;
};

/* The mark of a stack of the thread `when.pid` and `tid`: 0 or -errno of the output. */
int syscap_put_event_mark(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  struct syscap_thread waker, const struct events *events,
			  const struct wire_stack *stack);

/* "[off-cpu]" */
void syscap_event_frame(const struct events *events, uint32_t event, char *ret, size_t size);

/* "on-cpu nanoseconds cpu-clock", for the metadata "stackpipe.event.0". */
void syscap_event_text(const struct event_info *event, char *ret, size_t size);
