/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of processes.h share. */
#pragma once

#include "common/cgroup.h"
#include "common/hash-table.h"
#include "common/proc.h"
#include "common/processes.h"
#include "common/replaced-text.h"

/* The current incarnation of a PID. */
struct process {
	UT_hash_handle hh;
	uint64_t upid;
	uint32_t pid;
	uint32_t n_threads;
	uint64_t known_since; /* older events are already in what was read of it */
	uint64_t read_at;     /* its maps, last; of CLOCK_MONOTONIC */
	uint64_t began;	      /* forked or executed; 0: before it was found */
	uint64_t anonymous;   /* the image of all its anonymous memory, 0: none yet */
	struct mapping_table mappings;
	struct replaced_texts *replaced; /* NULL: there never were any */
	char name[PROC_NAME_MAX];
	struct cgroup *cgroup; /* NULL: the root, or not known */
	uint64_t
		memory; /* the same number: one memory; 0: nobody else has it, as far as is known */
	bool has_exited;
};

/*
 * Maps that /proc has shown while the stream was not yet there: they are compared with what it says
 * when it is, unless it tells of another mapping of that process since `began`.
 */
struct maps_to_compare {
	uint64_t upid;
	uint64_t began, ended; /* reading them; of CLOCK_MONOTONIC */
	struct proc_maps maps;
};

/* Whether an event that makes another incarnation of the PID still waits. */
bool processes_is_changing(const struct processes *processes, uint32_t pid);

/*
 * process-labels.c. What runs in a container was moved there before it was executed. `known` is the
 * group that it had before, which it keeps if /proc shows another incarnation already, or none. 0
 * or -errno, as the next.
 */
int processes_find_cgroup(struct processes *processes, struct process *process,
			  struct cgroup *known, uint64_t time);

/* The threads that were there before: no event tells how they are called. */
int processes_name_threads(struct processes *processes, const struct process *process,
			   uint64_t time);

/* Ends a process that nothing follows on: 0 or -errno of the output. */
int processes_end(struct processes *processes, struct process *process, uint64_t time);
