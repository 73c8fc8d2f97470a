/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the files of processes.h, which stand below in order: each calls only those before it,
 * and processes.c is on top.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/source/processes.h"
#include "common/source/replaced-text.h"

/* What a PID has spent of its budget (process-budget.c); exec does not reset it. */
struct process_spending {
	struct process_account *account; /* its user's; NULL: not known yet, or no limit */
	uint64_t until;			 /* the time up to which its own budget is spent */
	uint32_t n_records;
	uint64_t *n_refused; /* its counter; NULL: none were refused */
	bool is_refused;     /* the last record was */
};

/*
 * The mappings of processes that share memory (clone(2), CLONE_VM): mostly one process. The kernel
 * reports a mapping only for the process that made it.
 */
struct tracked_space {
	uint64_t number; /* unique */
	uint32_t n_members;
	struct mapping_table mappings;
	uint64_t anonymous; /* the image of all its anonymous memory, 0: none yet */
	/* Equal in spaces that turned out late to be one memory; 0: none known. */
	uint64_t group;
	/*
	 * Since when mappings are known without a gap. After a read of maps, mapped_since is its
	 * beginning, as older records are included; sure_since, for samples, is its end.
	 */
	uint64_t mapped_since, sure_since;
	uint64_t lost_until; /* the last record over the budget of a member; 0: none */
	uint64_t read_at;    /* last read from /proc; CLOCK_MONOTONIC */
	uint64_t looked_at;  /* n_questions at the last look */
	bool is_large;	     /* its maps took long to read */
	bool is_over_limit;  /* more was mapped than is kept: all of it was dropped */
};

/* The current incarnation of a PID. */
struct tracked_process {
	UT_hash_handle hh;
	uint64_t upid;
	uint32_t pid;
	uint32_t own_pid; /* in its own namespace; 0: unknown */
	uint32_t n_threads;
	uint64_t known_since; /* older events are included in what was read from /proc */
	uint64_t began;	      /* fork, exec, or (if found later) start; 0: unknown */
	struct tracked_space *space;
	struct replaced_texts *replaced; /* NULL: never any */
	char name[PROC_NAME_MAX];
	struct cgroup *cgroup;	 /* NULL: root, or unknown */
	uint32_t unsure_parent;	 /* PID that may share its memory; 0: that is decided */
	uint32_t n_unsure_looks; /* undecided looks at unsure_parent */
	bool has_exited;
	bool is_user_known;
	uid_t user; /* TASK_USER_UNKNOWN: it had exited before the lookup */
	struct process_spending spending;
};

/* process-budget.c. Counts a refused process. */
void processes_count_refused(struct refused_processes *refused,
			     const struct tracked_process *process);

/*
 * Whether one more record of a process may be emitted; if not, its mappings are unsure, and that is
 * counted.
 */
bool processes_spend(struct processes *processes, struct tracked_process *process, uint64_t time);

/*
 * Whether `n` mappings that /proc shows may be emitted: large numbers are charged to the user's
 * budget. If not, the process's mappings are to be dropped.
 */
bool processes_spend_maps(struct processes *processes, struct tracked_process *process, size_t n,
			  uint64_t time);

/*
 * Whether the user's budget allows an optional look into /proc, and what it cost in nanoseconds. A
 * process without account has no limit.
 */
bool processes_may_look(const struct tracked_process *process, uint64_t time);
void processes_spend_look(const struct tracked_process *process, uint64_t took);

/* Charges a child to its parent's user. */
void processes_inherit_account(struct processes *processes, struct tracked_process *child,
			       struct tracked_process *parent);

/* Whether a process was over budget a moment ago. */
bool processes_is_storming(const struct tracked_process *process, uint64_t time);

void processes_drop_accounts(struct processes *processes);

/* process-space.c. Gives a process a memory of its own. 0 or -ENOMEM. */
int processes_begin_space(struct processes *processes, struct tracked_process *process);
void processes_leave_space(struct tracked_process *process);
/* Replaces a process's memory by that of another process. */
void processes_join_space(struct tracked_process *process, const struct tracked_process *other);

/* Emits a mapping. 0 or -errno of the output. */
int processes_put_mapping(struct processes *processes, uint64_t upid, const struct mapping *mapping,
			  uint32_t flags, uint64_t time);

/* Drops all mappings of a process that has too many, and emits that. 0 or -errno. */
int processes_give_up(struct processes *processes, struct tracked_process *process, uint64_t time);

/* Drops the mappings of the largest processes if all together are too many. 0 or -errno. */
int processes_keep_within_limit(struct processes *processes, uint64_t time);

/* process.c. The current incarnation of a PID, or NULL. */
struct tracked_process *processes_find(const struct processes *processes, uint32_t pid);

/*
 * Begins an incarnation of a PID that is unknown or was ended; the caller emits it with
 * processes_put_process(). NULL: no memory.
 */
struct tracked_process *processes_begin(struct processes *processes, uint32_t pid,
					const char *name);

/* `sharer`: a process with the same memory, or NULL. 0 or -errno of the output, as the next. */
int processes_put_process(struct processes *processes, const struct tracked_process *process,
			  enum wire_origin origin, uint64_t parent,
			  const struct tracked_process *sharer, uint64_t time);

/* Emits the end of a process, and frees it. */
int processes_end(struct processes *processes, struct tracked_process *process, uint64_t time);

void processes_forget(struct processes *processes, struct tracked_process *process);

/* Whether an event that begins another incarnation of the PID is pending. */
bool processes_is_changing(const struct processes *processes, uint32_t pid);

/*
 * Reads a process's maps from /proc; empty if that is not permitted. 0; -ESRCH: nothing of the
 * incarnation that is current in the stream; -ETIMEDOUT: the process does not answer, and known
 * mappings stay; -ENOMEM.
 */
int processes_read_maps(struct processes *processes, uint32_t pid, struct proc_maps *ret);

/*
 * process-mappings.c: all return 0 or -errno of the output or of memory. Emits a mapping, unless it
 * is known, and sets its number.
 */
int processes_put_new_mapping(struct processes *processes, struct tracked_process *process,
			      struct mapping *mapping, uint32_t flags, uint64_t time);

/* Adds what is mapped at `source` to a process. */
int processes_add_mapping(struct processes *processes, struct tracked_process *process,
			  const struct image_source *source, uint64_t time);

/*
 * A child shares all mappings of its parent but those of anonymous memory, with the image
 * `inherited`: its JIT compiler makes other code there, described in a perf map of its own.
 */
int processes_own_anonymous(struct processes *processes, struct tracked_process *child,
			    uint64_t inherited, uint64_t time);

struct image_source processes_source_of(const struct proc_maps *maps,
					const struct proc_mapping *mapping);

/*
 * process-text.c: all return 0 or -errno of the output or of memory. Call before a mapping is
 * added: anonymous memory over a file may be a copy of it.
 */
int processes_note_replaced(struct processes *processes, struct tracked_process *process,
			    const struct image_source *source, bool is_writable);

/* Copies the texts of another process; NULL: none. */
int processes_keep_replaced(struct tracked_process *process, const struct replaced_texts *texts);

/* At a sample: compares what replaced a file's text with the file, if due. */
int processes_compare_text(struct processes *processes, struct tracked_process *process,
			   uint64_t address, uint64_t time);

/* Whether /proc shows memory without a file where a file's text is known to be. */
bool processes_is_replaced_text(const struct tracked_process *process,
				const struct image_source *source);

/* Adds what /proc shows, or only where no mapping is known, but not replaced text. */
int processes_add_shown(struct processes *processes, struct tracked_process *process,
			const struct proc_maps *maps, bool only_unknown, uint64_t time);

/*
 * process-memory.c. For a new process with a known parent, or NULL: finds out whether they share
 * memory (clone(2), CLONE_VM). Returns the process that it shares memory with; NULL: none known.
 */
struct tracked_process *processes_note_shared(struct processes *processes,
					      struct tracked_process *process,
					      struct tracked_process *parent);

/*
 * For a process not in the table yet: the process that it shares memory with, its parent or one
 * with large maps; NULL: none.
 */
struct tracked_process *processes_find_sharer(struct processes *processes, uint32_t pid);

/*
 * A process has mapped something at an address. Returns the group of address spaces that are one
 * memory, 0: none. 0 or -ENOMEM.
 */
int processes_find_memory(struct processes *processes, uint32_t pid, uint64_t address,
			  uint64_t time, uint64_t *ret);

/* A mapping of a process is in the stream: maps that were read before are outdated. */
void processes_note_mapped(struct processes *processes, const struct tracked_process *process,
			   uint64_t time);

/* Whether maps were read at a time that the stream has not reached. */
bool processes_is_moving(const struct processes *processes, const struct tracked_process *process,
			 uint64_t time);

/*
 * At a sample: checks whether known mappings are still there, and compares replaced text. 0 or
 * -errno of the output or of memory.
 */
int processes_look_again(struct processes *processes, struct tracked_process *process,
			 uint64_t address, uint64_t time);

void processes_drop_compared(struct processes *processes);

/*
 * process-labels.c. A process is moved into its container before its exec. `known` is the group
 * before that, which stays if /proc already shows another incarnation, or none. 0 or -errno, as the
 * next.
 */
int processes_find_cgroup(struct processes *processes, struct tracked_process *process,
			  struct cgroup *known, uint64_t time);

/* Names threads that existed before the recording, of which no event reports the name. */
int processes_name_threads(struct processes *processes, const struct tracked_process *process,
			   uint64_t time);

/*
 * process-reading.c: these return 0 or -errno of the output or of memory. Adds an unknown process
 * from /proc; without mappings if /proc does not show it.
 */
int processes_add_from_proc(struct processes *processes, uint32_t pid, enum wire_origin origin,
			    uint64_t time);

/*
 * Reads the maps of a known process again. If they share nothing with the known ones, an exec was
 * missed. -ESRCH: no such process, or another incarnation.
 */
int processes_reread(struct processes *processes, struct tracked_process *process, uint64_t time);

/* Whether it may be read again now, for a pc outside every known mapping. */
bool processes_may_reread(const struct processes *processes, const struct tracked_process *process,
			  uint64_t time);

/* Its table is full of old mappings, or it has too many. 0 or -errno. */
int processes_make_room(struct processes *processes, struct tracked_process *process,
			uint64_t time);

/*
 * process-gaps.c. Whether the maps of a sampled process have to be read because of a gap: not too
 * often and, over all processes, only in a part of the time.
 */
bool processes_wants_mending(const struct processes *processes,
			     const struct tracked_process *process, uint64_t time);

/* What a child gets from its parent is as sure as it was there. */
void processes_inherit_gaps(const struct processes *processes, struct tracked_process *child,
			    const struct tracked_process *parent, uint64_t time);

/* Reads the maps. 0 or -errno of the output or of memory. */
int processes_restore(struct processes *processes, struct tracked_process *process, uint64_t time);
