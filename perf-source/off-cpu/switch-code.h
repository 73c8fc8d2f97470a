/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the programs of switch-program.h do, in the kernel's instructions. Their contexts are the
 * arguments of the tracepoints (include/trace/events/sched.h of Linux), 64 bits each.
 */
#pragma once

#include "perf-source/bpf/bpf.h"
#include "perf-source/off-cpu/switch-program.h"

/* The only item of the map of settings, of which each side changes its own: we the threshold. */
struct switch_settings {
	uint64_t begun, threshold_ns;
	uint64_t n_refused;	   /* times that there was no room for a thread */
	uint64_t n_contradictions; /* who ran comes, or who was away goes: a switch was not heard of
				    */
};

/* Of sched_switch: one goes, another one comes. */
void switch_code_switch(struct bpf_code *code, const struct switch_program *program);

/* Of sched_process_fork: a thread or process begins. */
void switch_code_fork(struct bpf_code *code, const struct switch_program *program);

/* Of sched_process_exec: a process becomes another program. */
void switch_code_exec(struct bpf_code *code, const struct switch_program *program);

/*
 * Of sched_process_exit: a thread ends. How often it is still switched until it has really gone is
 * nobody's time.
 */
void switch_code_exit(struct bpf_code *code, const struct switch_program *program);

/*
 * Of sched_waking: whoever is on the CPU ends the wait of another thread. Not so if an interrupt
 * does: who was interrupted has no part in it.
 */
void switch_code_waking(struct bpf_code *code, const struct switch_program *program);
