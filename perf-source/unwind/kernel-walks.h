/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that the kernel walks at the moment of the sample (bpf/read-words.h): keeps what it looks
 * up in step with the stream. What it does not know yet is copied.
 */
#pragma once

#include "common/source/processes.h"
#include "perf-source/unwind/early-lists.h"
#include "perf-source/unwind/mapping-lists.h"
#include "perf-source/unwind/table-slots.h"

struct kernel_walks {
	struct unwind_program program;
	struct processes *processes; /* borrowed; NULL: the kernel walks no stacks */
	struct mapping_lists lists;
	struct table_slots tables;
	struct early_lists early;
	int error;			 /* of making them */
	struct pair_map changed;	 /* (pid, 0): processes whose list is to be made */
	struct unwind_mapping *mappings; /* of one, being made */
	uint64_t n_replaced;		 /* of images, when lists were made */
	uint64_t sweep_at;		 /* CLOCK_MONOTONIC */
	uint64_t expects_until; /* that code is met whose tables are not made: CLOCK_MONOTONIC */
};

/*
 * `walks` must be zero; `program` must have been loaded with walks of stacks; `cache` is taken
 * over. 0 or -errno.
 */
int kernel_walks_init(struct kernel_walks *walks, const struct sample_program *program,
		      struct processes *processes, struct images *images, struct table_cache cache);
void kernel_walks_deinit(struct kernel_walks *walks);

/* To be called once all processes are known that exist. 0 or -ENOMEM. */
int kernel_walks_note_all(struct kernel_walks *walks);

/* To be called where mappings of a process may have changed, or it has ended. */
void kernel_walks_note(struct kernel_walks *walks, uint32_t pid);

/* To be called for an exec: the kernel has forgotten the process's list. */
void kernel_walks_note_exec(struct kernel_walks *walks, uint32_t pid);

/*
 * To be called for records that the stream has not reached yet, once each; and then for all of
 * them together.
 */
void kernel_walks_look_ahead(struct kernel_walks *walks, const struct perf_event_header *record);
void kernel_walks_end_look(struct kernel_walks *walks);

/* To be called for a sample that was copied. */
void kernel_walks_note_copied(struct kernel_walks *walks, uint32_t pid);

/* To be called regularly. 0 or -ENOMEM. */
int kernel_walks_attend(struct kernel_walks *walks);

/* A descriptor that is readable once it should be called; -1: there is none. */
int kernel_walks_helper(const struct kernel_walks *walks);

/* Whether tables are being made, or may have to be soon: it should be called soon. */
bool kernel_walks_are_coming(const struct kernel_walks *walks);

/* At the end: adds what was refused to the stage's counters. */
void kernel_walks_count(const struct kernel_walks *walks, struct stage *stage);
