/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of processes.h share. They are in the order in which their functions stand below:
 * each calls those in front of it alone, and processes.c is on top.
 */
#pragma once

#include "common/base/hash-table.h"
#include "common/source/processes.h"
#include "common/source/replaced-text.h"

/* What a PID has taken of its budget (process-budget.c); a program that it executes goes on with
 * it. */
struct process_spending {
	struct process_account *account; /* its user's; NULL: not known yet, or nobody limits it */
	uint64_t until;			 /* its own: so far ahead it has spent */
	uint32_t n_records;
	uint64_t *n_refused; /* counts them; NULL: none were */
	bool is_refused;     /* the last one was */
};

/*
 * What processes have mapped that have one memory (clone(2), CLONE_VM): mostly one process. The
 * kernel tells of a mapping as of that one's alone which has made it.
 */
struct tracked_space {
	uint64_t number; /* no other one's */
	uint32_t n_members;
	struct mapping_table mappings;
	uint64_t anonymous; /* the image of all its anonymous memory, 0: none yet */
	/* The same number: one memory, but that was found out late; 0: as far as is known, none. */
	uint64_t group;
	/*
	 * What is mapped is known without a gap. Where it was read: since reading began, and older
	 * records are in it; for samples from when it was over, as it may show either.
	 */
	uint64_t mapped_since, sure_since;
	uint64_t lost_until; /* records of its members, beyond their budget; 0: none were */
	uint64_t read_at;    /* from /proc, last; of CLOCK_MONOTONIC */
	uint64_t looked_at;  /* the last of n_questions */
	bool is_large;	     /* it took long to be read */
	bool is_over_limit;  /* it has more mapped than is kept: none of it is known any more */
};

/* The current incarnation of a PID. */
struct tracked_process {
	UT_hash_handle hh;
	uint64_t upid;
	uint32_t pid;
	uint32_t own_pid; /* in its own namespace; 0: not known */
	uint32_t n_threads;
	uint64_t known_since; /* older events are already in what was read of it */
	uint64_t began;	      /* forked, executed, or (before it was found) started; 0: not known */
	struct tracked_space *space;
	struct replaced_texts *replaced; /* NULL: there never were any */
	char name[PROC_NAME_MAX];
	struct cgroup *cgroup;	 /* NULL: the root, or not known */
	uint32_t unsure_parent;	 /* that it may have one memory with; 0: that is known */
	uint32_t n_unsure_looks; /* for that, in vain */
	bool has_exited;
	bool is_user_known;
	uid_t user; /* TASK_USER_UNKNOWN: it had gone when it was asked for */
	struct process_spending spending;
};

/* process-budget.c. A process is one more. */
void processes_count_refused(struct refused_processes *refused,
			     const struct tracked_process *process);

/*
 * Whether one more record of a process can be told; if not, what it has mapped is not known for
 * sure, and that is counted.
 */
bool processes_spend(struct processes *processes, struct tracked_process *process, uint64_t time);

/*
 * Whether so many mappings that /proc shows can be told of a process: those of many count for its
 * user's budget. If not, it is to be given up.
 */
bool processes_spend_maps(struct processes *processes, struct tracked_process *process, size_t n,
			  uint64_t time);

/*
 * Whether its user may have us look into /proc once more for what can be left open; and what that
 * has taken, nanoseconds. Who has no account may.
 */
bool processes_may_look(const struct tracked_process *process, uint64_t time);
void processes_spend_look(const struct tracked_process *process, uint64_t took);

/* A child counts for its parent's user. */
void processes_inherit_account(struct processes *processes, struct tracked_process *child,
			       struct tracked_process *parent);

/* Whether it has told of more than it may a moment ago. */
bool processes_is_storming(const struct tracked_process *process, uint64_t time);

void processes_drop_accounts(struct processes *processes);

/* process-space.c. A process has a memory of its own. 0 or -ENOMEM. */
int processes_begin_space(struct processes *processes, struct tracked_process *process);
void processes_leave_space(struct tracked_process *process);
/* It has another one's, and not its own. */
void processes_join_space(struct tracked_process *process, const struct tracked_process *other);

/* Tells of a mapping. 0 or -errno of the output. */
int processes_put_mapping(struct processes *processes, uint64_t upid, const struct mapping *mapping,
			  uint32_t flags, uint64_t time);

/* It has more mapped than is kept: tells that nothing is known of it from here on. 0 or -errno. */
int processes_give_up(struct processes *processes, struct tracked_process *process, uint64_t time);

/* If all have more mapped than is kept, gives up who has most. 0 or -errno. */
int processes_keep_within_limit(struct processes *processes, uint64_t time);

/* process.c. The current incarnation of a PID; NULL: it is not known. */
struct tracked_process *processes_find(const struct processes *processes, uint32_t pid);

/*
 * A new incarnation of a PID that is not known, or was ended: the caller tells of it, by the next.
 * NULL: no memory.
 */
struct tracked_process *processes_begin(struct processes *processes, uint32_t pid,
					const char *name);

/* `sharer`: who it has one memory with, NULL: nobody. 0 or -errno of the output, as the next. */
int processes_put_process(struct processes *processes, const struct tracked_process *process,
			  enum wire_origin origin, uint64_t parent,
			  const struct tracked_process *sharer, uint64_t time);

/* Tells the end of a process, and forgets it. */
int processes_end(struct processes *processes, struct tracked_process *process, uint64_t time);

void processes_forget(struct processes *processes, struct tracked_process *process);

/* Whether an event that makes another incarnation of the PID still waits. */
bool processes_is_changing(const struct processes *processes, uint32_t pid);

/*
 * What /proc says of a process now, nothing if it may not be read. 0; -ESRCH: nothing that belongs
 * to the incarnation that is current in the stream; -ETIMEDOUT: it is there, but does not
 * answer, and what was known stays; -ENOMEM.
 */
int processes_read_maps(struct processes *processes, uint32_t pid, struct proc_maps *ret);

/*
 * process-mappings.c: all of these return 0 or -errno of the output or of memory. Tells of a
 * mapping, unless it is known; gives it its number.
 */
int processes_put_new_mapping(struct processes *processes, struct tracked_process *process,
			      struct mapping *mapping, uint32_t flags, uint64_t time);

/* Adds what is mapped at `source` to a process. */
int processes_add_mapping(struct processes *processes, struct tracked_process *process,
			  const struct image_source *source, uint64_t time);

/*
 * A child shares all mappings of its parent but those of anonymous memory, whose image is
 * `inherited`: its JIT compiler goes on to make other code there, and tells of it in a map of its
 * own.
 */
int processes_own_anonymous(struct processes *processes, struct tracked_process *child,
			    uint64_t inherited, uint64_t time);

struct image_source processes_source_of(const struct proc_maps *maps,
					const struct proc_mapping *mapping);

/*
 * process-text.c: all of these return 0 or -errno of the output or of memory. Something is to be
 * mapped: anonymous memory over a file may be a copy of it.
 */
int processes_note_replaced(struct processes *processes, struct tracked_process *process,
			    const struct image_source *source, bool is_writable);

/* Such texts, of another process or NULL, are its own, too. */
int processes_keep_replaced(struct tracked_process *process, const struct replaced_texts *texts);

/* At a sample: whether what replaces a file's text there is a copy of it. */
int processes_compare_text(struct processes *processes, struct tracked_process *process,
			   uint64_t address, uint64_t time);

/* Whether /proc shows memory without a file where a file's text is known to be. */
bool processes_is_replaced_text(const struct tracked_process *process,
				const struct image_source *source);

/* Tells of what /proc shows, or only where nothing is known, but not of replaced text. */
int processes_add_shown(struct processes *processes, struct tracked_process *process,
			const struct proc_maps *maps, bool only_unknown, uint64_t time);

/*
 * process-memory.c. A process is new, and its parent is known, or NULL: they may have one memory,
 * as clone(2) makes it with CLONE_VM. Who it has it with; NULL: nobody, or nobody knows.
 */
struct tracked_process *processes_note_shared(struct processes *processes,
					      struct tracked_process *process,
					      struct tracked_process *parent);

/*
 * A process that is in no table yet: who is known to have one memory with it, its parent or one of
 * those that have much mapped; NULL: nobody.
 */
struct tracked_process *processes_find_sharer(struct processes *processes, uint32_t pid);

/*
 * A process has something mapped at an address since now: the group of memories that are one, 0: of
 * none. 0 or -ENOMEM.
 */
int processes_find_memory(struct processes *processes, uint32_t pid, uint64_t address,
			  uint64_t time, uint64_t *ret);

/* The stream tells that a process has something mapped: what was read of it before is out of date.
 */
void processes_note_mapped(struct processes *processes, const struct tracked_process *process,
			   uint64_t time);

/* Whether it was read already what is mapped where the stream says nothing for now. */
bool processes_is_moving(const struct processes *processes, const struct tracked_process *process,
			 uint64_t time);

/*
 * At a sample: whether what is known to be mapped is still there, and what replaces a file's text
 * is a copy of it. 0 or -errno of the output or of memory.
 */
int processes_look_again(struct processes *processes, struct tracked_process *process,
			 uint64_t address, uint64_t time);

void processes_drop_compared(struct processes *processes);

/*
 * process-labels.c. What runs in a container was moved there before it was executed. `known` is the
 * group that it had before, which it keeps if /proc shows another incarnation already, or none. 0
 * or -errno, as the next.
 */
int processes_find_cgroup(struct processes *processes, struct tracked_process *process,
			  struct cgroup *known, uint64_t time);

/* The threads that were there before: no event tells how they are called. */
int processes_name_threads(struct processes *processes, const struct tracked_process *process,
			   uint64_t time);

/*
 * process-reading.c: these return 0 or -errno of the output or of memory. A process that is not
 * known, from /proc, or without anything if it cannot be had there.
 */
int processes_add_from_proc(struct processes *processes, uint32_t pid, enum wire_origin origin,
			    uint64_t time);

/*
 * Reads the maps of a known process again. If nothing of what was known is there any more, an exec
 * was missed. -ESRCH: there is no such process, or another one by now.
 */
int processes_reread(struct processes *processes, struct tracked_process *process, uint64_t time);

/* Whether it may be read again now, for a pc that nothing holds. */
bool processes_may_reread(const struct processes *processes, const struct tracked_process *process,
			  uint64_t time);

/* Its table is full of what is not mapped any more, or it has too much. 0 or -errno. */
int processes_make_room(struct processes *processes, struct tracked_process *process,
			uint64_t time);

/*
 * process-gaps.c. Whether the maps of a process that is sampled are to be read again because of a
 * gap: neither too often nor, of all processes together, in more than a part of the time.
 */
bool processes_wants_mending(const struct processes *processes,
			     const struct tracked_process *process, uint64_t time);

/* What a child has from its parent is as sure as it was there. */
void processes_inherit_gaps(const struct processes *processes, struct tracked_process *child,
			    const struct tracked_process *parent, uint64_t time);

/* Reads them. 0 or -errno of the output or of memory. */
int processes_restore(struct processes *processes, struct tracked_process *process, uint64_t time);
