/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a stream and what each has mapped, kept from their records alone: nothing here
 * asks the system. Process 0 stands for the kernel, whose mapping everybody shares.
 */
#pragma once

#include "common/stream/cgroup.h"
#include "common/base/hash-table.h"
#include "common/stream/mapping-table.h"
#include "common/wire/wire.h"

enum {
	PROCESS_TABLE_MAX = 1 << 17, /* living at one time; more are refused */
	/*
	 * Bytes of all mappings. A source keeps below three quarters of it; where a stream does
	 * not, whoever brings more loses all of his.
	 */
	PROCESS_TABLE_MAPPINGS_MAX = 128 << 20,
};

/* What processes have mapped that have one memory, as clone(2) makes it with CLONE_VM: mostly one.
 */
struct address_space {
	struct mapping_table mappings;
	uint64_t version;   /* changes with them */
	uint32_t n_members; /* that there ever were; each has a number below this */
	uint32_t n_living;  /* of those */
	bool is_over_limit; /* it has more mapped than is kept: nothing of it is known any more */
};

struct process {
	UT_hash_handle hh;
	uint64_t number; /* upid */
	uint32_t pid;
	uint32_t own_pid; /* in its own namespace; 0: not known */
	enum wire_origin origin;
	uint64_t began; /* 0: not known */
	char name[65];
	struct address_space *space; /* NULL: nothing was ever mapped (the kernel's alone) */
	uint32_t space_member;	     /* its number there */
	struct cgroup *cgroup;	     /* NULL: the root, not known, or nobody takes the records in */
	void *data;		     /* the stage's own; freed by the table's `forget` */
};

struct process_table {
	struct process *by_number;
	struct process kernel;
	struct address_space kernel_space;
	struct mapping_pool mappings; /* all tables' */
	uint64_t n_versions;
	uint64_t n_refused;				    /* processes and mappings */
	void (*forget)(struct process *process, void *arg); /* before one goes; may be NULL */
	void *arg;
};

void process_table_deinit(struct process_table *table);

/* Each takes the record of that name in. 0 or -ENOMEM; what is impossible is counted. */
int process_table_add(struct process_table *table, const struct wire_process *record);
int process_table_map(struct process_table *table, const struct wire_mapping *record);
int process_table_set_cgroup(struct process_table *table, const struct wire_cgroup *record);
void process_table_rename(struct process_table *table, const struct wire_thread *record);
void process_table_exit(struct process_table *table, const struct wire_process_exit *record);

/* What a process has mapped. */
static inline const struct mapping_table *process_mappings(const struct process *process)
{
	return process->space ? &process->space->mappings : &mapping_table_empty;
}

/* Changes with that; no two processes ever have the same, but for those that never had anything: 0.
 */
static inline uint64_t process_version(const struct process *process)
{
	return process->space ? process->space->version + process->space_member : 0;
}

/* Whether it has lost what it has mapped as that was too much. */
static inline bool process_is_over_limit(const struct process *process)
{
	return process->space && process->space->is_over_limit;
}

/* NULL: there is none of that number. */
struct process *process_table_find(const struct process_table *table, uint64_t number);

/* The mapping of a frame of a process, or of the kernel; NULL: none holds it. */
const struct mapping *process_table_mapping(const struct process_table *table,
					    const struct process *process,
					    const struct wire_frame *frame);

/*
 * The place of a frame of a process (wire.def, "symbol"): false if no mapping holds it. One less
 * than the address is looked up unless that is exact: behind a call may be the next function.
 */
bool process_table_place(const struct process_table *table, const struct process *process,
			 const struct wire_frame *frame, uint64_t *ret_image, uint64_t *ret_offset);
