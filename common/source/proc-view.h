/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What can be learnt of processes beside the events: a table of functions, with an instance for
 * each way in which /proc can be reached. Each source chooses one, and adds what only it knows.
 */
#pragma once

#include "common/proc/proc.h"
#include "common/proc/task-user.h"
#include "common/source/maps-reader.h"
#include "common/stream/cgroup.h"

enum { PID_UNKNOWN = UINT32_MAX }; /* the kernel's -1: a task that is already gone */

struct proc_view {
	/* Whether a process of that PID can be looked up; never one of 0 or PID_UNKNOWN. */
	bool (*shows)(uint32_t pid);
	bool (*is_gone)(uint32_t pid);	  /* there is certainly no such process any more */
	uid_t (*find_user)(uint32_t pid); /* as task_user() */
	/* 0 or -errno; -ETIMEDOUT, -EBUSY: the process is there, but does not answer. */
	int (*read_maps)(struct proc_view *view, uint32_t pid, enum maps_kind kind,
			 struct proc_maps *ret);
	int (*read_cgroup)(uint32_t pid, char ret[CGROUP_PATH_MAX]); /* as cgroup_read() */
	int (*each_thread)(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg);
	/* The functions of proc.h; NULL where no process is ever shown. */
	void (*read_name)(uint32_t pid, char ret[PROC_NAME_MAX]);
	void (*read_thread_name)(uint32_t pid, uint32_t tid, char ret[PROC_NAME_MAX]);
	uint64_t (*find_start)(uint32_t pid);
	uint32_t (*find_own_pid)(uint32_t pid);
	uint32_t (*find_parent)(uint32_t pid);

	/* The source's, each may be NULL: whether an event that makes another incarnation waits. */
	bool (*is_changing)(uint32_t pid, void *arg);
	/*
	 * Whether one of something that `pid` has mapped does. NULL: nothing is looked for that
	 * events do not tell of: code that has moved, shared memory, copies of text.
	 */
	bool (*is_mapping)(uint32_t pid, void *arg);
	/* What else is known of a file's build-id: its size, 0: nothing. */
	size_t (*find_build_id)(const char *path, const uint8_t **ret, void *arg);
	/* Of proc_view_opened: /proc/PID/maps of a process, open and borrowed, or -errno. */
	int (*find_maps)(uint32_t pid, void *arg);
	void *arg;
	struct maps_reader *maps_reader; /* of proc_view_live; NULL: none was needed yet */
};

extern const struct proc_view proc_view_live;	/* /proc of this machine */
extern const struct proc_view proc_view_opened; /* another process opens the maps (`find_maps`) */
extern const struct proc_view proc_view_absent; /* a recording, or /proc of another namespace */
