/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The set of followed PIDs in the kernel, kept up to date by BPF programs (bpf.h) at fork and at
 * the end of a task. A child of a followed process is in it before it has run. Filters of samples
 * (sample-filter.h) look it up.
 */
#pragma once

#include <stdint.h>

enum {
	FOLLOW_PROCESSES_MAX = 1 << 16, /* alive at once */
	FOLLOW_PROGRAMS = 2,
};

struct follow_program {
	int pids_fd, refused_fd; /* maps; -1: not loaded */
	uint32_t pid_offset;	 /* in task_struct; tgid follows it */
	int fds[FOLLOW_PROGRAMS];
	int attached_fds[FOLLOW_PROGRAMS];
	uint32_t n, n_attached;
};

/*
 * Makes an empty set and starts the programs. 0, or -errno with nothing loaded: -EPERM: it takes
 * CAP_BPF and CAP_PERFMON; -ENOENT: the kernel has no type information; -ENOSYS, -EINVAL, -EACCES:
 * it rejects the programs; -EOPNOTSUPP: we are not in the initial PID namespace.
 */
int follow_program_init(struct follow_program *program);
void follow_program_deinit(struct follow_program *program);

/* 0 or -errno: -E2BIG: the set already has FOLLOW_PROCESSES_MAX. */
int follow_program_add(const struct follow_program *program, uint32_t pid);

/* How many children did not fit into the set. */
uint64_t follow_program_count_refused(const struct follow_program *program);
