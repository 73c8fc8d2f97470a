/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of processes and mappings. Events are given in the order of their times; each
 * fork, exec and PID used again makes a new incarnation with a number of its own (upid), and from
 * here on nobody looks at a PID any more.
 *
 * What /proc says is only believed of the incarnation that is current in the stream: if an exec
 * or exit of that PID still waits in the rings (`is_changing`), /proc already shows the next one.
 */
#pragma once

#include "common/stream/mapping-table.h"
#include "common/stage/stage.h"
#include "common/source/images.h"
#include "common/source/proc-view.h"
#include "common/source/perf-record.h"

#define PROCESSES_LINGER_NS 100000000ULL
#define PROCESSES_REREAD_NS 100000000ULL /* a process's maps are read again no faster than this */
#define PROCESSES_COMPARE_NS 50000000ULL /* what is mapped is compared with /proc no faster */
#define PROCESSES_COMPARE_SHARE 200	 /* and at most this part of the time goes into that */
#define PROCESSES_SWEEP_NS 10000000000ULL
/* Bytes of what all processes have mapped: beyond the one some are given up, to below the other. */
#define PROCESSES_MAPPINGS_MAX (96U << 20)
#define PROCESSES_MAPPINGS_KEPT (64U << 20)
#define PROCESSES_IMAGES_LINGER_NS 30000000000ULL
#define PROCESSES_UID_COST_NS 100000ULL	     /* 10,000 records a second of one user, for each CPU */
#define PROCESSES_REREAD_LARGE_NS 1000000ULL /* maps that take so long to be read are large */
#define PROCESSES_REREAD_SHARE 20	     /* and at most this part of the time goes into them */
#define PROCESSES_RESTORE_SHARE 10 /* at most this part of the time goes into maps after a loss */

enum {
	MAPPING_KERNEL = 1,
	PROCESSES_LARGE_MAX = 8,
};

/* Processes of which something is not told, and the first of them. */
struct refused_processes {
	uint64_t n;
	uint32_t first_pid;
	char first_name[PROC_NAME_MAX];
};

/*
 * Maps that /proc has shown while the stream was not yet there: they are compared with what it says
 * when it is, unless it tells of another mapping of that process since `began`.
 */
struct maps_to_compare {
	uint64_t space;	       /* its number; 0: none are waiting */
	uint64_t began, ended; /* reading them; of CLOCK_MONOTONIC */
	struct proc_maps maps;
};

struct processes {
	struct stage *stage;   /* borrowed */
	struct images *images; /* borrowed */
	struct proc_view proc; /* proc_view_live, unless the source chooses another */
	struct tracked_process *by_pid;
	uint64_t n_upids;
	uint32_t n_mappings;
	uint64_t n_rereads;
	uint64_t n_images_followed;    /* of images->n_replaced */
	uint64_t n_questions;	       /* of mapping_table_any() */
	struct mapping_pool mappings;  /* all tables' */
	struct exited_process *exited; /* a queue, by time */
	size_t n_exited, n_exited_allocated;
	uint64_t swept_at;
	struct maps_to_compare compared;
	uint64_t compare_at; /* the time of the next comparison, or later */
	uint64_t n_compared, n_moved;
	struct text_comparer *text_comparer; /* NULL: none was needed yet */
	/* Until when records of mappings were lost, last; UINT64_MAX: they still are; 0: none were.
	 */
	uint64_t lost_until, gap_ended; /* the same, of those that have ended */
	uint64_t restore_at; /* of CLOCK_MONOTONIC: maps are not read after a loss before that */
	uint64_t reread_at;  /* likewise; large ones are not read again for an address */
	uint32_t large_pids[PROCESSES_LARGE_MAX]; /* the last that had much mapped */
	size_t n_large;
	struct process_account *accounts;
	size_t n_accounts;
	uint64_t uid_cost; /* of a record, to its user's budget, in nanoseconds; 0: it has none */
	struct refused_processes over_limit;  /* memories that had more mapped than is kept */
	struct refused_processes over_budget; /* those that told of more than is taken */
};

void processes_init(struct processes *processes, struct stage *stage, struct images *images);
void processes_deinit(struct processes *processes);

/* All of these return 0 or -errno of the output or of memory. */

/* The kernel's own mapping, and its image; its build-id may be empty. */
int processes_add_kernel(struct processes *processes, struct wire_blob build_id, uint64_t time);

/* Reads a process that was there before the first event. `time` is what its records say. */
int processes_scan(struct processes *processes, uint32_t pid, uint64_t time);

/*
 * A task is sampled for a while after the event of its exit, so the end of a process is only told
 * by processes_reap(), or when its PID is used again.
 */
int processes_fork(struct processes *processes, const struct perf_record_task *task, uint64_t time);
int processes_exit(struct processes *processes, const struct perf_record_task *task, uint64_t time);
int processes_comm(struct processes *processes, const struct perf_record_comm *comm, uint64_t time);
int processes_mmap(struct processes *processes, const struct perf_record_mmap2 *mmap,
		   uint64_t time);

/*
 * Whether an event tells of a process or of a file that is not known yet: some do not live long, so
 * that they are to be looked for soon.
 */
bool processes_is_news(const struct processes *processes, const struct perf_event_header *event);

/*
 * The process of a sample, found in /proc if it is not known; `address` is its user pc, 0 for
 * none: if no mapping holds it, the maps are read again, no faster than PROCESSES_REREAD_NS.
 */
int processes_of_sample(struct processes *processes, uint32_t pid, uint64_t address, uint64_t time,
			uint64_t *ret_upid);

/*
 * A program has begun under a PID, whatever was there before: reads it from /proc. `upid` is 0 if
 * it has gone already.
 */
int processes_discover(struct processes *processes, uint32_t pid, enum wire_origin origin,
		       uint64_t time, uint64_t *ret_upid);

/*
 * Reads the maps of a known process now, and forgets what is not mapped any more. 0; -ESRCH: it has
 * gone, or is another one by now.
 */
int processes_read_again(struct processes *processes, uint32_t pid, uint64_t time);

/* What is known to be mapped there; NULL: no such process. Void after the next call. */
const struct mapping_table *processes_mappings(const struct processes *processes, uint32_t pid);

/* A thread of a known process has a name. */
int processes_name_thread(struct processes *processes, uint32_t pid, uint32_t tid, const char *name,
			  uint64_t time);

/* A process has ended, and nothing follows of it. */
int processes_finish(struct processes *processes, uint32_t pid, uint64_t time);

/* The number of the mapping that holds an address of a process now; 0: none is known. */
uint32_t processes_find_mapping(const struct processes *processes, uint32_t pid, uint64_t address);

/* Ends the processes that exited PROCESSES_LINGER_NS before `time`. */
int processes_reap(struct processes *processes, uint64_t time);

/*
 * Every PROCESSES_SWEEP_NS, ends the processes whose exits were missed, and the images that no
 * process has had mapped for PROCESSES_IMAGES_LINGER_NS.
 */
int processes_sweep(struct processes *processes, uint64_t time);

/* Tells of the mappings of files anew that were written to since they were mapped. */
int processes_follow_images(struct processes *processes, uint64_t time);

/*
 * process-gaps.c. Records of mappings were lost up to a time of the stream; UINT64_MAX: nobody
 * knows yet until when. What a process has mapped is not known for sure from now on, until it was
 * read again after that.
 */
void processes_lose(struct processes *processes, uint64_t until);

/* Whether a process may have mapped something else at `time` than is known: records were lost. */
bool processes_is_unsure(const struct processes *processes, uint32_t pid, uint64_t time);

/* process-budget.c. At the end, a line each says of how many processes something is not told. */
void processes_warn_of_refused(const struct processes *processes);

/* After a loss of events: reads again what is alive, and ends what is not. */
int processes_read_all_again(struct processes *processes, uint64_t time);
