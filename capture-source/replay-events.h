/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads back several events as capture-sink writes them (formats/syscap/events.h): a stack's event
 * and weight, and the times and names of threads.
 */
#pragma once

#include "capture-source/lines.h"
#include "capture-source/replay-sample.h"

enum { REPLAY_EVENTS_MAX = WIRE_EVENTS_MAX };

struct replay_events {
	size_t n;			    /* 0: only the event of `hello` */
	char frames[REPLAY_EVENTS_MAX][72]; /* "[off-cpu]" */
	/* (PID in the file, TID and kind of mark) → weight and flags of the last mark; its waker */
	struct pair_map weights, wakers;
	struct lines names;	 /* names of threads that are not emitted yet */
	struct lines times;	 /* times of threads that are not emitted yet */
	struct pair_map cgroups; /* (PID in the file, 0) → path in its line */
	const char *cgroups_end; /* of the file with the lines of `cgroups` */
};

/* Reads and emits the capture's events. 0 or -errno. */
int replay_events_start(struct replay_events *events, struct stage *stage,
			const struct syscap_file *file);
void replay_events_deinit(struct replay_events *events);

/* Whether a mark belongs to a stack. */
bool replay_events_is_ours(const struct replay_events *events,
			   const struct syscap_mark_frame *mark);

/* Keeps the weight and waker of a mark. 0 or -ENOMEM. */
int replay_events_take_mark(struct replay_events *events, const struct syscap_mark_frame *mark);

/* The event of a stack, by its outermost address; 0: the first event. */
uint32_t replay_events_of_stack(const struct replay_events *events, const struct syscap_file *file,
				uint64_t outermost);

/* A thread by its numbers in the file; `tid` 0: none. */
struct replay_thread {
	int32_t pid, tid;
};

/* Sets weight and flags of a stack with a known `end` from its last mark; returns the waker. */
void replay_events_weigh(const struct replay_events *events, int32_t pid, int32_t tid,
			 struct wire_stack *stack, struct replay_thread *ret_waker);

/* The cgroup of a process; empty: not known. */
struct wire_string replay_events_cgroup(const struct replay_events *events, int32_t pid);

/* The next thread time up to `until`: 0, or -ENODATA. The record lacks its process: `ret_pid`. */
int replay_events_next_time(struct replay_events *events, uint64_t until, int32_t *ret_pid,
			    struct wire_thread_time *ret);

/* The next thread name up to `until`: 0 or -ENODATA. */
struct replay_thread_name {
	uint64_t time;
	int32_t pid, tid;
	char name[65];
};

int replay_events_next_name(struct replay_events *events, uint64_t until,
			    struct replay_thread_name *ret);
