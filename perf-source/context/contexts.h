/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The contexts of processes: finds who publishes one, has it read by helpers, emits it, and says
 * where the process's threads have theirs. A BPF program reports processes that publish something;
 * those that did so before are found by their maps, as all are where that program cannot run.
 * Helpers also find interpreters in processes that map one.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/source/images.h"
#include "common/source/processes.h"
#include "perf-source/bpf/context-program.h"
#include "perf-source/context/context-reader.h"
#include "perf-source/context/context-search.h"

enum {
	CONTEXTS_HELPERS_MAX = 4,
	CONTEXTS_UNKNOWN_MAX = 8,    /* files of interpreters that a warning names */
	CONTEXTS_STUCK_MAX = 8,	     /* helpers that cannot be ended: then no more are started */
	CONTEXTS_WAITING_MAX = 8192, /* processes whose context is to be read */
	CONTEXTS_LOOKS_MAX = 250, /* at an interpreter that is being started: about two minutes */
	CONTEXTS_TAKEN_MAX = 64,  /* reports of the program that are taken at one time */
	CONTEXTS_FILES_MS = 2000, /* how long to wait for the process's files to be opened, */
	CONTEXTS_WAIT_MS = 10000, /* and for the stream to come to what the process is now */
	CONTEXTS_PAUSE_MS = 250,  /* between two looks at one process's context, at least */
};

/* A process whose context is to be read. */
struct context_job {
	uint32_t pid;
	uint64_t upid; /* its incarnation when the helper began */
	struct context_hints hints;
	uint64_t added, begun; /* CLOCK_MONOTONIC */
	uint32_t n_looks;      /* that found an interpreter which was being started */
	struct context_reader reader;
};

struct contexts {
	struct stage *stage; /* borrowed, as all below */
	struct processes *processes;
	struct context_program *program; /* it may not be loaded */
	struct context_search search;
	struct context_job helpers[CONTEXTS_HELPERS_MAX]; /* upid 0: free */
	struct context_job *waiting;
	size_t n_waiting, n_waiting_allocated;
	struct pair_map published; /* (upid, 0) → when the context that was emitted was published */
	struct pair_map runtimes; /* (upid, 0) → when its walk program was set; CLOCK_MONOTONIC */
	struct pair_map read_at;  /* (upid, 0) → when it was last read; CLOCK_MONOTONIC */
	uint64_t begin_at;	  /* no helper is started before it; CLOCK_MONOTONIC */
	const char *why_no_runtimes; /* are read; NULL: they are */
	bool has_warned;
	uint64_t unknown[CONTEXTS_UNKNOWN_MAX]; /* images of interpreters with a warning */
	size_t n_unknown;
	bool has_said_partly;
	size_t n_stuck;
	uint64_t n_refused, n_runtimes_refused;
};

/* `wanted`: enum contexts_wanted; `is_wanted`: whether the recording is of a process. */
void contexts_init(struct contexts *contexts, struct stage *stage, struct processes *processes,
		   struct context_program *program, uint32_t wanted,
		   bool (*is_wanted)(uint32_t pid, void *arg), void *arg);
void contexts_deinit(struct contexts *contexts);

/* To be called for a mapping of a file (NULL: no text): it may hold an interpreter. 0 or -ENOMEM.
 */
int contexts_note_mapping(struct contexts *contexts, uint32_t pid, const char *path);

/*
 * To be called for a fork, in the order of the stream. A child of a process whose interpreter is
 * known has a walk program from the kernel, others are to be looked at. 0 or -errno.
 */
int contexts_note_fork(struct contexts *contexts, uint32_t parent, uint32_t child, uint64_t time);

/* To be called regularly; `time` is that of the stream. 0 or -errno: of the output, or of memory.
 */
int contexts_attend(struct contexts *contexts, uint64_t time);

/* A descriptor that is readable once the i-th helper has ended; -1: there is none. */
int contexts_helper(const struct contexts *contexts, size_t i);

/* Whether processes wait, helpers work, or the first search goes on: it should be called soon. */
bool contexts_are_coming(const struct contexts *contexts);

/* At the end: adds what was refused to the stage's counters. */
void contexts_count(const struct contexts *contexts);
