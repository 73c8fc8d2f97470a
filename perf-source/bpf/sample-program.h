/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The BPF program of a sampling event (sample.bpf.c): the kernel drops samples before it copies. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "perf-source/bpf/follow-program.h"
#include "perf-source/bpf/sample-terms.h"

struct sample_program {
	struct sample_bpf *skeleton; /* NULL: not loaded */
};

/*
 * Loads a program that drops, and counts, samples for which the terms do not hold; no terms: none.
 * If `follow` is loaded, those of processes outside its set are dropped without being counted. 0 or
 * -errno, with nothing loaded: -EPERM: it takes CAP_BPF and CAP_PERFMON; -ENOSYS: built without
 * BPF.
 */
int sample_program_load(struct sample_program *program, const struct sample_term *terms, size_t n,
			const struct follow_program *follow);
void sample_program_unload(struct sample_program *program);

/* A descriptor for PERF_EVENT_IOC_SET_BPF; -1: not loaded. */
int sample_program_fd(const struct sample_program *program);

/* How many samples the terms have dropped so far. */
uint64_t sample_program_count_skipped(const struct sample_program *program);
