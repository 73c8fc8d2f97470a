/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "common/base/text.h"
#include "common/base/zero-pages.h"
#include "common/stream/syscap-format.h"
#include "formats/syscap/pids.h"

enum { USED_SIZE = SYSCAP_PSEUDO_PID / 8 };

int syscap_pids_init(struct syscap_pids *pids)
{
	pair_map_init(&pids->by_process,
		      2 * PROCESS_TABLE_MAX); /* more than that: some have no exit record */
	pids->used = zero_pages_get(USED_SIZE);
	return pids->used ? 0 : -ENOMEM;
}

void syscap_pids_deinit(struct syscap_pids *pids)
{
	pair_map_deinit(&pids->by_process);
	zero_pages_give_back(pids->used, USED_SIZE);
}

static bool is_used(const struct syscap_pids *pids, uint32_t pid)
{
	return pids->used[pid / 8] & 1 << pid % 8;
}

int64_t syscap_pids_assign(struct syscap_pids *pids, uint64_t upid, const struct process *process)
{
	uint32_t real = process ? process->pid : UINT32_MAX;
	const uint64_t *known = syscap_pids_find(pids, upid);
	int64_t pid = real;
	int r;

	if (known)
		return *known;
	if (real >= SYSCAP_PSEUDO_PID || is_used(pids, real)) {
		/* After two billion pseudo PIDs, all further processes share the last one. */
		pids->n_pseudo += pids->n_pseudo < INT_MAX - SYSCAP_PSEUDO_PID;
		pid = SYSCAP_PSEUDO_PID + pids->n_pseudo;
	} else {
		pids->used[real / 8] |= 1 << real % 8;
	}
	r = pair_map_add(&pids->by_process, upid, 0, pid);
	if (r == -ENOSPC)
		return SYSCAP_PSEUDO_PID;
	return r < 0 ? r : pid;
}

const uint64_t *syscap_pids_find(const struct syscap_pids *pids, uint64_t upid)
{
	return pair_map_find(&pids->by_process, upid, 0);
}

void syscap_pids_forget(struct syscap_pids *pids, uint64_t upid)
{
	pair_map_remove(&pids->by_process, upid, 0);
}

void syscap_pids_name(const struct process *process, int32_t pid, char ret[SYSCAP_PIDS_NAME_MAX])
{
	char name[SYSCAP_PIDS_NAME_MAX / 2] = "[unknown]";

	if (process && *process->name)
		text_clean_string(process->name, name, sizeof(name));
	if (process && (uint32_t)pid != process->pid && process->pid < SYSCAP_PSEUDO_PID)
		snprintf(ret, SYSCAP_PIDS_NAME_MAX, "%s (pid %" PRIu32 ")", name, process->pid);
	else
		snprintf(ret, SYSCAP_PIDS_NAME_MAX, "%s", name);
}
