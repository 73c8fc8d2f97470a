/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/hash-table.h"
#include "perf-source/off-cpu/scheduler.h"

struct scheduler_life {
	uint32_t pid;
	uint64_t since;
	UT_hash_handle hh;
};

struct scheduler *scheduler_new(struct stage *stage, struct processes *processes)
{
	struct scheduler *scheduler = calloc(1, sizeof(*scheduler));

	if (!scheduler)
		return NULL;
	scheduler->stage = stage;
	scheduler->processes = processes;
	return scheduler;
}

void scheduler_free(struct scheduler *scheduler)
{
	struct scheduler_life *life, *next;

	if (!scheduler)
		return;
	HASH_ITER(hh, scheduler->lives, life, next)
	{
		HASH_DEL(scheduler->lives, life);
		free(life);
	}
	free(scheduler);
}

static int put_mark(struct scheduler *scheduler, uint32_t pid, struct wire_mark *mark)
{
	int r = processes_of_sample(scheduler->processes, pid, 0, mark->time, &mark->process);

	return r < 0 ? r : stage_put(scheduler->stage, WIRE_RECORD_mark, mark);
}

static int put_run(struct scheduler *scheduler, size_t cpu, uint64_t time, const char *how)
{
	struct scheduler_cpu *slot = &scheduler->cpus[cpu];
	char name[16], text[64]; /* captures keep only a mark's text */
	struct wire_mark mark = {
		.time = time,
		.duration = time - slot->since,
		.tid = slot->tid,
		.group = wire_string("scheduler", 23),
		.name = { name, snprintf(name, sizeof(name), "CPU %zu", cpu) },
		.text = { text, snprintf(text, sizeof(text), "thread %" PRIu32 "%s%s", slot->tid,
					 *how ? ", " : "", how) },
	};

	return put_mark(scheduler, slot->pid, &mark);
}

static bool was_preempted(const struct perf_event_header *header)
{
	return header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
}

int scheduler_take_switch(struct scheduler *scheduler, const struct perf_event_header *header,
			  uint64_t time)
{
	const struct perf_record_id *id = perf_record_id(header);
	struct scheduler_cpu *slot;
	int r = 0;

	if (!id || id->cpu >= SCHEDULER_CPUS_MAX)
		return 0;
	slot = &scheduler->cpus[id->cpu];
	if (!(header->misc & PERF_RECORD_MISC_SWITCH_OUT)) {
		*slot = (struct scheduler_cpu){ id->pid, id->tid, time };
		if (id->tid == PID_UNKNOWN)
			*slot = (struct scheduler_cpu){ 0 };
		return 0;
	}
	/* A thread that was reaped has no TID any more. */
	if (slot->tid && (slot->tid == id->tid || id->tid == PID_UNKNOWN))
		r = put_run(scheduler, id->cpu, time, was_preempted(header) ? "preempted" : "");
	*slot = (struct scheduler_cpu){ 0 };
	return r;
}

static struct scheduler_life *find_life(const struct scheduler *scheduler, uint32_t pid)
{
	struct scheduler_life *life;

	HASH_FIND(hh, scheduler->lives, &pid, sizeof(pid), life);
	return life;
}

static void begin_life(struct scheduler *scheduler, uint32_t pid, uint64_t time)
{
	struct scheduler_life *life = find_life(scheduler, pid);

	if (!life && HASH_COUNT(scheduler->lives) < SCHEDULER_LIVES_MAX)
		life = calloc(1, sizeof(*life));
	if (!life) {
		scheduler->n_refused++;
		scheduler->begun_at = UINT64_MAX; /* an unknown program may be new */
		return;
	}
	life->since = time;
	if (life->pid)
		return;
	life->pid = pid;
	HASH_ADD(hh, scheduler->lives, pid, sizeof(life->pid), life);
	if (HASH_HAS(hh, life))
		return;
	free(life);
	scheduler->n_refused++;
}

static int put_life(struct scheduler *scheduler, uint32_t pid, uint64_t since, uint64_t time,
		    const char *how)
{
	struct wire_mark mark = {
		.time = time,
		.duration = time - since,
		.group = wire_string("process", 23),
		.name = wire_string("life", 39),
		.text = wire_string(how, 1024),
	};

	return put_mark(scheduler, pid, &mark);
}

static int end_life(struct scheduler *scheduler, uint32_t pid, uint64_t time, const char *how)
{
	struct scheduler_life *life = find_life(scheduler, pid);
	uint64_t since = life ? life->since : scheduler->begun_at;

	return since < time ? put_life(scheduler, pid, since, time, how) : 0;
}

/* Events of a task do not report its last switch, after its exit. */
static int end_run(struct scheduler *scheduler, const struct perf_event_header *header,
		   uint64_t time)
{
	const struct perf_record_task *task = (const void *)header;
	const struct perf_record_id *id = perf_record_id(header);
	struct scheduler_cpu *slot;
	int r;

	if (!id || id->cpu >= SCHEDULER_CPUS_MAX)
		return 0;
	slot = &scheduler->cpus[id->cpu];
	if (slot->tid != task->tid)
		return 0;
	r = put_run(scheduler, id->cpu, time, "exit");
	*slot = (struct scheduler_cpu){ 0 };
	return r;
}

static int take_exit(struct scheduler *scheduler, uint32_t pid, uint64_t time)
{
	struct scheduler_life *life;
	int r = end_life(scheduler, pid, time, "exit");

	life = find_life(scheduler, pid);
	if (life) {
		HASH_DEL(scheduler->lives, life);
		free(life);
	}
	return r;
}

int scheduler_take_task(struct scheduler *scheduler, const struct perf_event_header *header,
			uint64_t time)
{
	const struct perf_record_task *task = (const void *)header;
	const struct perf_record_comm *comm = (const void *)header;
	int r;

	switch (header->type) {
	case PERF_RECORD_FORK:
		if (task->pid != task->parent_pid) /* else a thread */
			begin_life(scheduler, task->pid, time);
		return 0;
	case PERF_RECORD_EXIT:
		r = end_run(scheduler, header, time);
		return r == 0 && task->pid == task->tid ? take_exit(scheduler, task->pid, time) : r;
	case PERF_RECORD_COMM:
		if (!perf_record_comm_is_exec(header))
			return 0;
		r = end_life(scheduler, comm->pid, time, "exec");
		begin_life(scheduler, comm->pid, time);
		return r;
	default:
		return 0;
	}
}

void scheduler_take_lost(struct scheduler *scheduler)
{
	memset(scheduler->cpus, 0, sizeof(scheduler->cpus));
}

int scheduler_finish(struct scheduler *scheduler, uint64_t time)
{
	struct scheduler_life *life, *next;
	int r = 0;

	for (size_t i = 0; i < SCHEDULER_CPUS_MAX && r == 0; i++)
		if (scheduler->cpus[i].tid && scheduler->cpus[i].since < time)
			r = put_run(scheduler, i, time, "");
	HASH_ITER(hh, scheduler->lives, life, next)
	{
		if (r == 0)
			r = put_life(scheduler, life->pid, life->since, time, "");
	}
	*counters_get(&scheduler->stage->counters, "refused", "lives") += scheduler->n_refused;
	return r;
}
