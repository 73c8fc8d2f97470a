/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The BPF code of the programs of switch-program.h. Their contexts are the arguments of the
 * tracepoints (include/trace/events/sched.h of Linux), 64 bits each.
 */
#pragma once

#include "perf-source/bpf/bpf.h"
#include "perf-source/off-cpu/switch-program.h"

/* The only item of the settings map. We write the threshold; running programs write the rest. */
struct switch_settings {
	uint64_t begun, threshold_ns;
	uint64_t n_refused;	   /* how often there was no room for a thread */
	uint64_t n_contradictions; /* missed switches: a running thread comes, or one away goes */
};

/* At sched_switch: a thread is switched out, another one in. */
void switch_code_switch(struct bpf_code *code, const struct switch_program *program);

/* At sched_process_fork: a thread or process begins. */
void switch_code_fork(struct bpf_code *code, const struct switch_program *program);

/* At sched_process_exec: a process executes another program. */
void switch_code_exec(struct bpf_code *code, const struct switch_program *program);

/* At sched_process_exit: a thread ends. Its remaining switches do not count. */
void switch_code_exit(struct bpf_code *code, const struct switch_program *program);

/*
 * At sched_waking: the current thread ends the wait of another one. Wake-ups by an interrupt are
 * skipped, as the interrupted thread has no part in them.
 */
void switch_code_waking(struct bpf_code *code, const struct switch_program *program);
