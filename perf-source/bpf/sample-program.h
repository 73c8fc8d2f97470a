/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The BPF program of a sampling event (sample.bpf.c): the kernel drops samples before it copies. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perf-source/bpf/context-program.h"
#include "perf-source/bpf/follow-program.h"
#include "perf-source/bpf/ring-share.h"
#include "perf-source/bpf/sample-terms.h"

struct sample_program {
	struct sample_bpf *skeleton; /* NULL: not loaded */
};

struct sample_settings {
	const struct sample_term *terms; /* what samples must be of */
	size_t n;
	const struct follow_program *follow;	/* if loaded: only those of processes in its set */
	const struct context_program *contexts; /* if loaded: contexts are emitted; may be NULL */
	bool has_walks;				/* with these: what interpreters execute as well */
	const struct sample_program *first;	/* whose limits on parts are shared; NULL: none */
	uint32_t stack_size;   /* bytes to read of a stack whose end is not known; 0: perf copies */
	uint64_t stack_limit;  /* the same of other stacks */
	bool walks_stacks;     /* with a stack_size: by tables, where that can be (read-words.h) */
	uint32_t judged_every; /* of these so many one is read as well; 0: none is */
};

/*
 * Loads a program that drops, and counts, samples for which the terms do not hold. Those of
 * processes that are not followed are dropped without being counted. With a stack_size that is not
 * 0 it emits stacks in parts (sample-part.h). 0 or -errno, with nothing loaded: -EPERM: it takes
 * CAP_BPF and CAP_PERFMON; -ENOSYS: built without BPF; others: the kernel rejects it.
 */
int sample_program_load(struct sample_program *program, const struct sample_settings *settings);
void sample_program_unload(struct sample_program *program);

/* A descriptor for PERF_EVENT_IOC_SET_BPF; -1: not loaded. */
int sample_program_fd(const struct sample_program *program);

/*
 * Sets the event of type BPF_OUTPUT for a CPU's parts. 0 or -errno: -E2BIG: a CPU's number of
 * RING_SHARE_CPUS_MAX or above.
 */
int sample_program_set_output(const struct sample_program *program, uint32_t cpu, int event);

/* What the rings may hold of parts; borrowed from a loaded program. */
struct ring_share *sample_program_share(const struct sample_program *program);

/* How many samples the terms have dropped so far. */
uint64_t sample_program_count_skipped(const struct sample_program *program);
