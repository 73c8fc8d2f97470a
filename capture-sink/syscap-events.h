/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a Sysprof capture has of several events and of processes, in a form that Sysprof shows and
 * capture-source reads back: a stack of another event than the first has "[EVENT]" as its outermost
 * frame, and a mark in front of it that tells what it weighs; the events themselves are metadata.
 * Where the time of threads has gone, and in which control groups processes run, are files.
 */
#pragma once

#include "capture-sink/capture.h"
#include "capture-sink/syscap-frames.h"

/* Lines of a file that have not been written yet. */
struct syscap_notes {
	char *text;
	size_t size;
};

enum { SYSCAP_NOTES_SIZE = 16 * 1024 }; /* then a piece of the file is due */

/* The mark of a stack: 0 or -errno of the output. `tid` is that of the capture. */
int syscap_put_event_mark(struct syscap *syscap, struct syscap_time when, int32_t tid,
			  const struct events *events, const struct wire_stack *stack);

/* "[off-cpu]" */
void syscap_event_frame(const struct events *events, uint32_t event, char *ret, size_t size);

/* "on-cpu nanoseconds cpu-clock", for the metadata "stackpipe.event.0". */
void syscap_event_text(const struct event_info *event, char *ret, size_t size);

/*
 * Each adds a line: 1: a piece is due, and `text` to be emptied before the next; 0 or -ENOMEM.
 * `pid` is that of the capture.
 */
int syscap_note_thread_time(struct syscap_notes *notes, int32_t pid,
			    const struct wire_thread_time *record);
int syscap_note_thread_name(struct syscap_notes *notes, struct syscap_time when, int32_t tid,
			    const char *name);
int syscap_note_cgroup(struct syscap_notes *notes, int32_t pid, const char *path);
