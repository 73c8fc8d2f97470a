/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a stream and their mappings, kept from records alone, without any look at the
 * system. Process 0 stands for the kernel, whose mapping all processes share.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/stream/cgroup.h"
#include "common/stream/mapping-table.h"
#include "common/wire/wire.h"

enum {
	PROCESS_TABLE_MAX = 1 << 17, /* alive at one time; more are refused */
	/*
	 * Bytes of all mappings. A source stays below three quarters of it; if a stream does not,
	 * the process whose mapping exceeds it loses all of its mappings.
	 */
	PROCESS_TABLE_MAPPINGS_MAX = 128 << 20,
};

/* The mappings of processes that share memory (clone(2), CLONE_VM): mostly one process. */
struct address_space {
	struct mapping_table mappings;
	uint64_t version;   /* refreshed when the mappings or the members change */
	uint32_t n_members; /* ever joined; each has a number below this */
	uint32_t n_living;  /* still alive */
	bool is_over_limit; /* more was mapped than is kept: all of it was dropped */
};

struct process {
	UT_hash_handle hh;
	uint64_t number; /* upid */
	uint32_t pid;
	uint32_t own_pid; /* in its own namespace; 0: not known */
	enum wire_origin origin;
	uint64_t began; /* 0: not known */
	char name[65];
	struct address_space *space; /* NULL: nothing was ever mapped (the kernel only) */
	uint32_t space_member;	     /* its member number there */
	struct cgroup *cgroup;	     /* NULL: root, unknown, or the stage ignores cgroup records */
	void *data;		     /* owned by the stage; freed by the table's `forget` */
};

struct process_table {
	struct process *by_number;
	struct process kernel;
	struct address_space kernel_space;
	struct mapping_pool mappings; /* of all tables */
	uint64_t n_versions;
	uint64_t n_refused;				    /* processes and mappings */
	void (*forget)(struct process *process, void *arg); /* before it is freed; may be NULL */
	void *arg;
};

void process_table_deinit(struct process_table *table);

/* Each applies the record of that name. 0 or -ENOMEM; invalid records are counted. */
int process_table_add(struct process_table *table, const struct wire_process *record);
int process_table_map(struct process_table *table, const struct wire_mapping *record);
int process_table_set_cgroup(struct process_table *table, const struct wire_cgroup *record);
void process_table_rename(struct process_table *table, const struct wire_thread *record);
void process_table_exit(struct process_table *table, const struct wire_process_exit *record);

/* The mappings of a process. */
static inline const struct mapping_table *process_mappings(const struct process *process)
{
	return process->space ? &process->space->mappings : &mapping_table_empty;
}

/* Identifies a state of a process's mappings; unique, but 0 for all without an address space. */
static inline uint64_t process_version(const struct process *process)
{
	return process->space ? process->space->version + process->space_member : 0;
}

/* Whether the process's mappings were dropped because there were too many. */
static inline bool process_is_over_limit(const struct process *process)
{
	return process->space && process->space->is_over_limit;
}

/* NULL: no such number. */
struct process *process_table_find(const struct process_table *table, uint64_t number);

/* Whether what a frame is in is mapped for all processes. */
static inline bool process_table_shares(const struct wire_frame *frame)
{
	return frame->flags & (WIRE_frame_flags_KERNEL | WIRE_frame_flags_SCRIPT);
}

/*
 * The address of the instruction that a frame executes, or a byte of its call: one byte before a
 * return address, as a call may be the last thing in its function.
 */
static inline uint64_t frame_code(const struct wire_frame *frame)
{
	return frame->address - !(frame->flags & WIRE_frame_flags_EXACT);
}

/* The mapping that contains a frame, or NULL. */
const struct mapping *process_table_mapping(const struct process_table *table,
					    const struct process *process,
					    const struct wire_frame *frame);

/*
 * The location of a frame (wire.def, "symbol"); false: no mapping contains it. Looks up one byte
 * before the address unless the frame is exact: another function may begin behind a call.
 */
bool process_table_place(const struct process_table *table, const struct process *process,
			 const struct wire_frame *frame, uint64_t *ret_image, uint64_t *ret_offset);
