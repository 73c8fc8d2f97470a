/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a source can learn about processes besides events: a table of functions, with an instance
 * for each way in which /proc is accessible. A source chooses one, and adds callbacks of its own.
 */
#pragma once

#include "common/proc/proc.h"
#include "common/proc/task-user.h"
#include "common/source/maps-reader.h"
#include "common/stream/cgroup.h"

enum { PID_UNKNOWN = UINT32_MAX }; /* the kernel's -1: a task that has already exited */

struct proc_view {
	/* Whether a process of that PID can be looked up; false for 0 and PID_UNKNOWN. */
	bool (*shows)(uint32_t pid);
	bool (*is_gone)(uint32_t pid);	  /* certainly no such process exists */
	uid_t (*find_user)(uint32_t pid); /* as task_user() */
	/* 0 or -errno; -ETIMEDOUT, -EBUSY: the process exists, but does not answer. */
	int (*read_maps)(struct proc_view *view, uint32_t pid, enum maps_kind kind,
			 struct proc_maps *ret);
	int (*read_cgroup)(uint32_t pid, char ret[CGROUP_PATH_MAX]); /* as cgroup_read() */
	int (*each_thread)(uint32_t pid, int (*each)(uint32_t tid, void *arg), void *arg);
	/* Functions of proc.h; NULL if `shows` is always false. */
	void (*read_name)(uint32_t pid, char ret[PROC_NAME_MAX]);
	void (*read_thread_name)(uint32_t pid, uint32_t tid, char ret[PROC_NAME_MAX]);
	uint64_t (*find_start)(uint32_t pid);
	uint32_t (*find_own_pid)(uint32_t pid);
	uint32_t (*find_parent)(uint32_t pid);

	/* Of the source; each may be NULL. Whether an event of a new incarnation is pending. */
	bool (*is_changing)(uint32_t pid, void *arg);
	/*
	 * Whether an event of a new mapping of `pid` is pending. NULL: changes without an event are
	 * not looked for (moved code, shared memory, copies of text).
	 */
	bool (*is_mapping)(uint32_t pid, void *arg);
	/* Another source of a file's build-id. Returns its size; 0: unknown. */
	size_t (*find_build_id)(const char *path, const uint8_t **ret, void *arg);
	/* For proc_view_opened: an open /proc/PID/maps, borrowed, or -errno. */
	int (*find_maps)(uint32_t pid, void *arg);
	void *arg;
	struct maps_reader *maps_reader; /* of proc_view_live; NULL: not needed yet */
};

extern const struct proc_view proc_view_live;	/* /proc of this machine */
extern const struct proc_view proc_view_opened; /* another process opens the maps (`find_maps`) */
extern const struct proc_view proc_view_absent; /* a recording, or /proc of another namespace */
