/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mappings of processes that share memory, and a limit for those of all processes, which this
 * source and every later stage keep. Beyond it, of the user whose processes take most, those with
 * the most mappings lose theirs.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/source/processes-internal.h"

enum {
	USERS_MAX = 256, /* users kept apart at the limit; further ones count as one */
};

int processes_begin_space(struct processes *processes, struct tracked_process *process)
{
	process->space = calloc(1, sizeof(*process->space));
	if (!process->space)
		return -ENOMEM;
	process->space->number = process->upid;
	process->space->n_members = 1;
	process->space->mappings.pool = &processes->mappings;
	return 0;
}

void processes_leave_space(struct tracked_process *process)
{
	struct tracked_space *space = process->space;

	process->space = NULL;
	if (!space || --space->n_members)
		return;
	mapping_table_deinit(&space->mappings);
	free(space);
}

void processes_join_space(struct tracked_process *process, const struct tracked_process *other)
{
	if (process->space == other->space)
		return;
	processes_leave_space(process);
	process->space = other->space;
	process->space->n_members++;
}

int processes_put_mapping(struct processes *processes, uint64_t upid, const struct mapping *mapping,
			  uint32_t flags, uint64_t time)
{
	struct wire_mapping record = {
		.mapping = mapping->number,
		.flags = flags,
		.process = upid,
		.time = time,
		.start = mapping->start,
		.length = mapping->end - mapping->start,
		.offset = mapping->offset,
		.image = mapping->image,
	};

	return stage_put(processes->stage, WIRE_RECORD_mapping, &record);
}

int processes_give_up(struct processes *processes, struct tracked_process *process, uint64_t time)
{
	const struct mapping everything = { .end = UINT64_MAX };

	if (process->space->is_over_limit)
		return 0;
	process->space->is_over_limit = true;
	mapping_table_deinit(&process->space->mappings);
	++*counters_get(&processes->stage->counters, "refused", "mapping-limit");
	processes_count_refused(&processes->over_limit, process);
	return processes_put_mapping(processes, process->upid, &everything,
				     WIRE_mapping_flags_LIMIT, time);
}

/* What a user's processes take, and the most mappings of one of them. */
struct share {
	uid_t user;
	size_t n_bytes, n_mappings_max;
};

/* The last of USERS_MAX also has the processes of all users without a share of their own. */
struct shares {
	struct share list[USERS_MAX];
	size_t n;
};

/* Looked up when first needed; TASK_USER_UNKNOWN if the process has exited. */
static uid_t find_user(const struct processes *processes, struct tracked_process *process)
{
	if (!process->is_user_known) {
		process->is_user_known = true;
		process->user = processes->proc.find_user(process->pid);
	}
	return process->user;
}

static struct share *get_share(struct shares *shares, uid_t user)
{
	for (size_t i = 0; i < shares->n; i++)
		if (shares->list[i].user == user)
			return &shares->list[i];
	if (shares->n == USERS_MAX)
		return &shares->list[USERS_MAX - 1];
	shares->list[shares->n] = (struct share){ .user = user };
	return &shares->list[shares->n++];
}

/* Fills in `shares`, and returns the largest of them. */
static struct share *find_largest_share(struct processes *processes, struct shares *shares)
{
	struct tracked_process *process, *next;
	struct share *largest = shares->list;

	*shares = (struct shares){ 0 };

	HASH_ITER(hh, processes->by_pid, process, next)
	{
		const struct mapping_table *mappings = &process->space->mappings;
		struct share *share = get_share(shares, find_user(processes, process));

		share->n_bytes += mapping_table_memory(mappings) / process->space->n_members;
		if (mappings->n > share->n_mappings_max)
			share->n_mappings_max = mappings->n;
	}
	for (size_t i = 0; i < shares->n; i++)
		if (shares->list[i].n_bytes > largest->n_bytes)
			largest = &shares->list[i];
	return largest;
}

static bool is_large_one_of(struct shares *shares, const struct share *share,
			    struct processes *processes, struct tracked_process *process)
{
	return process->space->mappings.n &&
	       process->space->mappings.n >= share->n_mappings_max / 2 &&
	       get_share(shares, find_user(processes, process)) == share;
}

int processes_keep_within_limit(struct processes *processes, uint64_t time)
{
	struct tracked_process *process, *next;
	const struct share *largest;
	struct shares shares;
	int r = 0;

	if (processes->mappings.n_bytes <= PROCESSES_MAPPINGS_MAX)
		return 0;
	while (r == 0 && processes->mappings.n_bytes > PROCESSES_MAPPINGS_KEPT) {
		largest = find_largest_share(processes, &shares);
		if (!largest->n_mappings_max)
			break;
		HASH_ITER(hh, processes->by_pid, process, next)
		{
			if (r == 0 && is_large_one_of(&shares, largest, processes, process))
				r = processes_give_up(processes, process, time);
		}
	}
	return r;
}
