/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The PIDs of processes in a Sysprof capture, which knows them by nothing else: the first
 * incarnation of a PID has it; each later one (exec, PID used again) gets a number above any real
 * PID, and its real one in its name.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/stream/process-table.h"

enum { SYSCAP_PIDS_NAME_MAX = 128 };

struct syscap_pids {
	struct pair_map by_process; /* (upid, 0) → the PID in the file */
	uint8_t *used;		    /* a bit for each real PID that is in the file */
	int32_t n_pseudo;
};

/* 0 or -ENOMEM */
int syscap_pids_init(struct syscap_pids *pids);
void syscap_pids_deinit(struct syscap_pids *pids);

/*
 * The PID of an incarnation, whose process may be NULL: not known. < 0: -ENOMEM. Those that are too
 * many (of a stream that never tells of an exit) share one.
 */
int64_t syscap_pids_assign(struct syscap_pids *pids, uint64_t upid, const struct process *process);

/* NULL: it has none. Valid until the next call of another function. */
const uint64_t *syscap_pids_find(const struct syscap_pids *pids, uint64_t upid);

/* It has ended: only that its PID has been used is kept in mind. */
void syscap_pids_forget(struct syscap_pids *pids, uint64_t upid);

/* What a process (NULL: not known) of that PID is called. */
void syscap_pids_name(const struct process *process, int32_t pid, char ret[SYSCAP_PIDS_NAME_MAX]);
