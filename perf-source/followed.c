/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <signal.h>

#include "common/source/perf-record.h"
#include "perf-source/followed.h"

void followed_init(struct followed *followed)
{
	*followed = (struct followed){ .program = { 0 } };
	pair_map_init(&followed->pids, FOLLOWED_MAX);
	follow_program_init(&followed->program); /* if it fails, samples are filtered here */
}

void followed_deinit(struct followed *followed)
{
	pair_map_deinit(&followed->pids);
	follow_program_deinit(&followed->program);
}

static bool is_alive(uint64_t pid, uint64_t unused, uint64_t has_ended, void *arg)
{
	return !has_ended || kill(pid, 0) == 0 || errno != ESRCH;
}

static int put(struct followed *followed, uint32_t pid)
{
	uint64_t *has_ended = pair_map_find(&followed->pids, pid, 0);

	if (has_ended) {
		*has_ended = false;
		return 0;
	}
	pair_map_prune(&followed->pids, is_alive, NULL);
	return pair_map_add(&followed->pids, pid, 0, false);
}

int followed_add(struct followed *followed, uint32_t pid)
{
	int r = put(followed, pid);

	if (r < 0 || !follow_program_is_loaded(&followed->program))
		return r;
	return follow_program_add(&followed->program, pid);
}

int followed_add_command(struct followed *followed, uint32_t pid)
{
	followed->awaited = pid;
	return followed_add(followed, pid);
}

bool followed_has(const struct followed *followed, uint32_t pid)
{
	return pid != followed->awaited && pair_map_find(&followed->pids, pid, 0);
}

bool followed_has_sample(const struct followed *followed, uint32_t pid)
{
	enum { GONE = UINT32_MAX }; /* the kernel's -1: no PID any more */

	return pid == GONE ? follow_program_is_loaded(&followed->program)
			   : followed_has(followed, pid);
}

/* The process that a record is of, for a fork the parent; 0: none. */
static uint32_t owner_of(const struct perf_event_header *header)
{
	const struct perf_record_mmap2 *mmap = (const void *)header;
	const struct perf_record_comm *comm = (const void *)header;
	const struct perf_record_task *task = (const void *)header;

	switch (header->type) {
	case PERF_RECORD_MMAP2:
		return mmap->pid;
	case PERF_RECORD_COMM:
		return comm->pid;
	case PERF_RECORD_FORK:
		return task->parent_pid;
	case PERF_RECORD_EXIT:
		return task->pid;
	default:
		return 0;
	}
}

static bool begins_command(const struct followed *followed, const struct perf_event_header *header)
{
	return followed->awaited && header->type == PERF_RECORD_COMM &&
	       owner_of(header) == followed->awaited &&
	       perf_record_comm_is_exec((const void *)header);
}

bool followed_concerns(const struct followed *followed, const struct perf_event_header *header)
{
	uint32_t owner = owner_of(header);

	return !owner || followed_has(followed, owner) || begins_command(followed, header);
}

/* A child is followed if its parent is; an earlier process with its PID does not count. */
static void take_fork(struct followed *followed, const struct perf_record_task *task, bool concerns)
{
	if (task->pid == task->parent_pid)
		return;
	if (!concerns)
		pair_map_remove(&followed->pids, task->pid, 0);
	else if (put(followed, task->pid) < 0)
		followed->n_refused++;
}

/* The kernel has 0 for a process outside of our PID namespace, which is none that is followed. */
static void note_exit(struct followed *followed, uint32_t pid)
{
	uint64_t *has_exited = pair_map_find(&followed->pids, pid, 0);

	if (has_exited)
		*has_exited = true;
}

bool followed_take(struct followed *followed, const struct perf_event_header *header)
{
	const struct perf_record_task *task = (const void *)header;
	bool concerns = followed_concerns(followed, header);

	if (begins_command(followed, header))
		followed->awaited = 0;
	if (header->type == PERF_RECORD_FORK)
		take_fork(followed, task, concerns);
	if (header->type == PERF_RECORD_EXIT && task->pid == task->tid)
		note_exit(followed, task->pid);
	return concerns;
}
