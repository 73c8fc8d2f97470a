/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The set of followed PIDs in the kernel, kept up to date by BPF programs (follow.bpf.c) at fork
 * and at the end of a task. A child of a followed process is in it before it has run. Programs of
 * samples (sample-program.h) look it up.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct follow_program {
	struct follow_bpf *skeleton; /* NULL: not loaded */
};

/*
 * Makes an empty set and starts the programs. 0, or -errno with nothing loaded: -EPERM: it takes
 * CAP_BPF and CAP_PERFMON; -ESRCH: the kernel has no type information; -EINVAL, -EACCES: it rejects
 * the programs; -EOPNOTSUPP: we are not in the initial PID namespace; -ENOSYS: built without BPF.
 */
int follow_program_init(struct follow_program *program);
void follow_program_deinit(struct follow_program *program);

static inline bool follow_program_is_loaded(const struct follow_program *program)
{
	return program->skeleton;
}

/* 0 or -errno: -E2BIG: the set is full. */
int follow_program_add(const struct follow_program *program, uint32_t pid);

/* How many children did not fit into the set. */
uint64_t follow_program_count_refused(const struct follow_program *program);
