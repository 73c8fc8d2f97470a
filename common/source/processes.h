/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The identity of processes and mappings. Events arrive in the order of their times; each fork,
 * exec and reused PID makes a process incarnation with a number of its own (upid), and later stages
 * use no PIDs.
 *
 * What /proc shows is trusted only for the incarnation that is current in the stream: if an exec or
 * exit of the PID is still pending in the rings (`is_changing`), /proc shows the next one already.
 */
#pragma once

#include "common/source/images.h"
#include "common/source/perf-record.h"
#include "common/source/proc-view.h"
#include "common/stage/stage.h"
#include "common/stream/mapping-table.h"

#define PROCESSES_LINGER_NS 100000000ULL
#define PROCESSES_REREAD_NS 100000000ULL /* minimum between two reads of a process's maps */
#define PROCESSES_COMPARE_NS 50000000ULL /* minimum between two comparisons with /proc */
#define PROCESSES_COMPARE_SHARE 200	 /* 1/200 of the time, at most, goes into them */
#define PROCESSES_SWEEP_NS 10000000000ULL
/* Bytes of all mappings: beyond MAX the largest are dropped, until no more than KEPT are left. */
#define PROCESSES_MAPPINGS_MAX (96U << 20)
#define PROCESSES_MAPPINGS_KEPT (64U << 20)
#define PROCESSES_IMAGES_LINGER_NS 30000000000ULL
#define PROCESSES_UID_COST_NS 100000ULL	     /* 10,000 records a second of a user, per CPU */
#define PROCESSES_REREAD_LARGE_NS 1000000ULL /* maps that take so long to read are large */
#define PROCESSES_REREAD_SHARE 20  /* 1/20 of the time, at most, goes into reading those again */
#define PROCESSES_RESTORE_SHARE 10 /* 1/10 of the time, at most, goes into maps after a loss */

enum {
	MAPPING_KERNEL = 1,
	PROCESSES_LARGE_MAX = 8,
};

/* Counts processes of which something is not emitted, and names the first. */
struct refused_processes {
	uint64_t n;
	uint32_t first_pid;
	char first_name[PROC_NAME_MAX];
};

/*
 * Maps that /proc showed before the stream had reached that time. They are applied when it has,
 * unless it reports another mapping of that process since `began`.
 */
struct maps_to_compare {
	uint64_t space;	       /* number of the address space; 0: none waiting */
	uint64_t began, ended; /* of reading them; CLOCK_MONOTONIC */
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
	struct mapping_pool mappings;  /* of all tables */
	struct exited_process *exited; /* a queue, by time */
	size_t n_exited, n_exited_allocated;
	uint64_t swept_at;
	struct maps_to_compare compared;
	uint64_t compare_at; /* CLOCK_MONOTONIC: no comparison before it */
	uint64_t n_compared, n_moved;
	struct text_comparer *text_comparer; /* NULL: not needed yet */
	/* When the last loss of mapping records ended; UINT64_MAX: it goes on; 0: none was lost. */
	uint64_t lost_until, gap_ended; /* gap_ended: of losses that have ended */
	uint64_t restore_at; /* CLOCK_MONOTONIC: no maps are read after a loss before it */
	uint64_t reread_at;  /* likewise: no large maps are read again for an address */
	uint32_t large_pids[PROCESSES_LARGE_MAX]; /* the last processes with large maps */
	size_t n_large;
	struct process_account *accounts;
	size_t n_accounts;
	uint64_t uid_cost; /* nanoseconds that a record costs its user's budget; 0: no budget */
	struct refused_processes over_limit;  /* address spaces with more mappings than are kept */
	struct refused_processes over_budget; /* processes with more records than are accepted */
};

void processes_init(struct processes *processes, struct stage *stage, struct images *images);
void processes_deinit(struct processes *processes);

/* All of these return 0 or -errno of the output or of memory. */

/* Emits the kernel's mapping and image; its build-id may be empty. */
int processes_add_kernel(struct processes *processes, struct wire_blob build_id, uint64_t time);

/*
 * Emits the image of a language's scripts, and where all processes have it mapped (script-place.h),
 * once.
 */
int processes_add_scripts(struct processes *processes, enum script_language language,
			  uint64_t time);

/* Reads a process that existed before the first event. `time` is that of its records. */
int processes_scan(struct processes *processes, uint32_t pid, uint64_t time);

/*
 * Tasks are still sampled for a while after their exit event, so the end of a process is only
 * emitted by processes_reap(), or when its PID is reused.
 */
int processes_fork(struct processes *processes, const struct perf_record_task *task, uint64_t time);
int processes_exit(struct processes *processes, const struct perf_record_task *task, uint64_t time);
int processes_comm(struct processes *processes, const struct perf_record_comm *comm, uint64_t time);
int processes_mmap(struct processes *processes, const struct perf_record_mmap2 *mmap,
		   uint64_t time);

/*
 * Whether an event introduces a process or file that is not known yet: some are short-lived, so
 * they have to be examined soon.
 */
bool processes_is_news(const struct processes *processes, const struct perf_event_header *event);

/* The image of a mapped file that is known already; 0: it is not, or it is no code of a file. */
uint64_t processes_known_image(const struct processes *processes,
			       const struct perf_record_mmap2 *mmap);

/*
 * The process of a sample, read from /proc if it is not known. If no mapping contains `address`,
 * its user pc (0: none), the maps are read again, no faster than PROCESSES_REREAD_NS.
 */
int processes_of_sample(struct processes *processes, uint32_t pid, uint64_t address, uint64_t time,
			uint64_t *ret_upid);

/*
 * A program has begun under a PID, whatever was there before: reads it from /proc. `upid` is 0 if
 * it has already ended.
 */
int processes_discover(struct processes *processes, uint32_t pid, enum wire_origin origin,
		       uint64_t time, uint64_t *ret_upid);

/*
 * Reads the maps of a known process now, and removes what is no longer mapped. 0; -ESRCH: it has
 * exited, or is another incarnation.
 */
int processes_read_again(struct processes *processes, uint32_t pid, uint64_t time);

/* The known mappings of a process, valid until the next call; NULL: no such process. */
const struct mapping_table *processes_mappings(const struct processes *processes, uint32_t pid);

/*
 * Calls `each` for every known process that began at `since` or later (0: all) until it returns
 * < 0; returns that, or 0.
 */
int processes_each(const struct processes *processes, uint64_t since,
		   int (*each)(uint32_t pid, void *arg), void *arg);

/* Emits the name of a thread of a known process. */
int processes_name_thread(struct processes *processes, uint32_t pid, uint32_t tid, const char *name,
			  uint64_t time);

/* Ends a process of which nothing more follows. */
int processes_finish(struct processes *processes, uint32_t pid, uint64_t time);

/* The number of the mapping that contains an address of a process now; 0: none. */
uint32_t processes_find_mapping(const struct processes *processes, uint32_t pid, uint64_t address);

/* Ends the processes that exited PROCESSES_LINGER_NS before `time`. */
int processes_reap(struct processes *processes, uint64_t time);

/*
 * Every PROCESSES_SWEEP_NS, ends processes whose exit was missed, and images that no process has
 * had mapped for PROCESSES_IMAGES_LINGER_NS.
 */
int processes_sweep(struct processes *processes, uint64_t time);

/* Emits mappings again whose files were written to since they were mapped. */
int processes_follow_images(struct processes *processes, uint64_t time);

/*
 * process-gaps.c. Mapping records were lost up to a time of the stream; UINT64_MAX: the end is not
 * known yet. From now on mappings of a process are unsure until they are read after that time.
 */
void processes_lose(struct processes *processes, uint64_t until);

/* Whether a process may have other mappings at `time` than known, because records were lost. */
bool processes_is_unsure(const struct processes *processes, uint32_t pid, uint64_t time);

/* process-budget.c. At the end, warns of processes of which something was not emitted. */
void processes_warn_of_refused(const struct processes *processes);

/* After a loss of events: reads all live processes again, and ends the others. */
int processes_read_all_again(struct processes *processes, uint64_t time);
