/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several events, as capture-sink has put them into a Sysprof capture
 * (formats/syscap/events.h): which event a stack is of, what it weighs, and where the time
 * of threads has gone.
 */
#pragma once

#include "capture-source/replay-sample.h"

enum { REPLAY_EVENTS_MAX = WIRE_EVENTS_MAX };

/* Of an embedded file. */
struct lines {
	const char *at, *end;
};

struct replay_events {
	size_t n;			    /* 0: one that `hello` names */
	char frames[REPLAY_EVENTS_MAX][72]; /* "[off-cpu]" */
	/* (PID in the file, TID and kind of mark) → what the mark told; who has woken it */
	struct pair_map weights, wakers;
	struct lines names;	 /* of threads: what is still to be told */
	struct lines times;	 /* where the time of threads has gone: what is still to be told */
	struct pair_map cgroups; /* (PID in the file, 0) → its line's path */
	const char *cgroups_end; /* of the last one's file */
};

/* Reads what the capture says of its events, and tells it. 0 or -errno. */
int replay_events_start(struct replay_events *events, struct stage *stage,
			const struct syscap_file *file);
void replay_events_deinit(struct replay_events *events);

/* Whether a mark is one of those that tell of a stack. */
bool replay_events_is_ours(const struct replay_events *events,
			   const struct syscap_mark_frame *mark);

/* Keeps what a mark tells. 0 or -ENOMEM. */
int replay_events_take_mark(struct replay_events *events, const struct syscap_mark_frame *mark);

/* The event of a stack whose outermost address is given; 0: the first. */
uint32_t replay_events_of_stack(const struct replay_events *events, const struct syscap_file *file,
				uint64_t outermost);

/* A thread by its numbers in the file; `tid` 0: none. */
struct replay_thread {
	int32_t pid, tid;
};

/* What the last mark has told of a stack, whose `end` is known by now; and who has woken it. */
void replay_events_weigh(const struct replay_events *events, int32_t pid, int32_t tid,
			 struct wire_stack *stack, struct replay_thread *ret_waker);

/* The control group of a process; empty: none is told. */
struct wire_string replay_events_cgroup(const struct replay_events *events, int32_t pid);

/* The next line up to a time: 0 and the record without its process, whose PID is that of the file;
 * -ENODATA: none. */
int replay_events_next_time(struct replay_events *events, uint64_t until, int32_t *ret_pid,
			    struct wire_thread_time *ret);

/* The next name that a thread has got by a time: 0 or -ENODATA. */
struct replay_thread_name {
	uint64_t time;
	int32_t pid, tid;
	char name[65];
};

int replay_events_next_name(struct replay_events *events, uint64_t until,
			    struct replay_thread_name *ret);
