/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PIDs for a Sysprof capture, which identifies processes by PID only. The first incarnation of a
 * PID keeps it; each later one (exec, reused PID) gets a number above any real PID, and the real
 * PID in its name.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/stream/process-table.h"

enum { SYSCAP_PIDS_NAME_MAX = 128 };

struct syscap_pids {
	struct pair_map by_process; /* (upid, 0) → PID in the file */
	uint8_t *used;		    /* a bit for each real PID in the file */
	int32_t n_pseudo;
};

/* 0 or -ENOMEM */
int syscap_pids_init(struct syscap_pids *pids);
void syscap_pids_deinit(struct syscap_pids *pids);

/*
 * The PID of an incarnation; `process` NULL: not known. < 0: -ENOMEM. Incarnations beyond the limit
 * (in streams without exits) share one PID.
 */
int64_t syscap_pids_assign(struct syscap_pids *pids, uint64_t upid, const struct process *process);

/* NULL: it has no PID. Valid until the next call of another function. */
const uint64_t *syscap_pids_find(const struct syscap_pids *pids, uint64_t upid);

/* Forgets an incarnation that has ended, but not that its PID was used. */
void syscap_pids_forget(struct syscap_pids *pids, uint64_t upid);

/* The name of a process (NULL: not known) with that PID. */
void syscap_pids_name(const struct process *process, int32_t pid, char ret[SYSCAP_PIDS_NAME_MAX]);
