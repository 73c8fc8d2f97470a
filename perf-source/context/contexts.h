/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The contexts of processes: finds who publishes one, has it read by helpers, emits it, and says
 * where the process's threads have theirs. A BPF program reports processes that publish something;
 * those that did so before are found by their maps, as all are where that program cannot run.
 */
#pragma once

#include "common/base/pair-map.h"
#include "common/source/images.h"
#include "common/source/processes.h"
#include "perf-source/bpf/context-program.h"
#include "perf-source/context/context-reader.h"

enum {
	CONTEXTS_HELPERS_MAX = 4,
	CONTEXTS_STUCK_MAX = 8,	     /* helpers that cannot be ended: then no more are started */
	CONTEXTS_WAITING_MAX = 8192, /* processes whose context is to be read */
	CONTEXTS_TRIES_MAX = 40,     /* to read one: its files are not open yet */
};

/* A process and the address of its context. */
struct context_job {
	uint32_t pid;
	uint32_t n_tries;
	uint64_t upid; /* its incarnation when the helper began */
	uint64_t address;
	struct context_reader reader;
};

struct contexts {
	struct stage *stage; /* borrowed, as all below */
	struct processes *processes;
	struct context_program *program;	    /* it may not be loaded */
	bool (*is_wanted)(uint32_t pid, void *arg); /* whether the recording is of a process */
	void *arg;
	struct context_job helpers[CONTEXTS_HELPERS_MAX]; /* upid 0: free */
	struct context_job *waiting;
	size_t n_waiting, n_waiting_allocated;
	uint32_t *to_look_at; /* PIDs whose maps are to be searched, from the end on */
	size_t n_to_look_at;
	uint64_t look_at, round_at, young_round_at; /* CLOCK_MONOTONIC: not before */
	struct pair_map published; /* (upid, 0) → when the context that was emitted was published */
	size_t n_stuck;
	uint64_t n_refused;
};

void contexts_init(struct contexts *contexts, struct stage *stage, struct processes *processes,
		   struct context_program *program);
void contexts_deinit(struct contexts *contexts);

/* To be called regularly; `time` is that of the stream. 0 or -errno: of the output, or of memory.
 */
int contexts_attend(struct contexts *contexts, uint64_t time);

/* Whether helpers are at work, so that it should be called soon. */
bool contexts_are_coming(const struct contexts *contexts);

/* At the end: adds what was refused to the stage's counters. */
void contexts_count(const struct contexts *contexts);
