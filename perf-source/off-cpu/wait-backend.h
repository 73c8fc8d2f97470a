/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How waits are paired: by a BPF program, whose records switch-events.c takes, or from a record of
 * each switch (switch-records.c). The choice is made once, before the recording begins.
 */
#pragma once

#include "perf-source/off-cpu/waits.h"

struct wait_backend {
	bool pairs_in_kernel;
	uint64_t switch_costs_ns; /* wait-threshold.h */

	/* Finds the kernel's functions that stacks are trimmed to. */
	void (*find_functions)(struct off_cpu *off_cpu, const char *kallsyms, size_t size);

	/* All below return 0 or -errno: of the program, of the output or of memory. */
	int (*begin)(struct off_cpu *off_cpu, uint64_t time);

	/* A record of RING_SWITCHES. */
	int (*take_switch)(struct off_cpu *off_cpu, const struct perf_event_header *header,
			   uint64_t time);

	/*
	 * A sample of RING_WAITS; `number` is WAITS_GOING or WAITS_WAKING. `context` is what
	 * another program has emitted before it.
	 */
	int (*take_stack)(struct off_cpu *off_cpu, uint32_t number,
			  const struct perf_record_sample *sample, struct sample_context context);

	/* Any record, before processes.h takes it: forks, execs and exits concern waits. */
	int (*take_task)(struct off_cpu *off_cpu, const struct perf_event_header *header,
			 uint64_t time);

	/* Records of switches were lost. */
	int (*take_lost)(struct off_cpu *off_cpu, uint64_t time);

	/* The threshold of waits has changed. */
	int (*set_threshold)(struct off_cpu *off_cpu, uint64_t threshold_ns);

	/* Takes over the sums that the BPF program has until now. */
	int (*read_sums)(struct off_cpu *off_cpu, uint64_t time);

	/* The same at the end: threads have been away, or have run, until `time`. */
	int (*finish)(struct off_cpu *off_cpu, uint64_t time);
};

extern const struct wait_backend wait_backend_program, wait_backend_records;

/* Drops the innermost frames of a stack, of the BPF program, up to the tracepoint's function. */
void switch_events_trim_stack(const struct off_cpu_function *discovered_in,
			      struct perf_record_sample *stack);
