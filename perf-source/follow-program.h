/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that are followed, as the kernel knows them: a set of PIDs, and programs (bpf.h) at
 * fork and at the end of a task that keep it. What is forked by one of the set is in it before it
 * has run; filters of samples (sample-filter.h) ask it.
 */
#pragma once

#include <stdint.h>

enum {
	FOLLOW_PROCESSES_MAX = 1 << 16, /* alive at once */
	FOLLOW_PROGRAMS = 2,
};

struct follow_program {
	int pids_fd, refused_fd; /* maps; -1: it is not there */
	uint32_t pid_offset;	 /* in task_struct; the tgid is behind it */
	int fds[FOLLOW_PROGRAMS];
	int attached_fds[FOLLOW_PROGRAMS];
	uint32_t n, n_attached;
};

/*
 * Makes the set, which is empty, and has it kept from now on. 0 or -errno, and it is not there:
 * -EPERM: it takes CAP_BPF and CAP_PERFMON; -ENOENT: the kernel does not tell its types; -ENOSYS,
 * -EINVAL, -EACCES: it does not take the programs; -EOPNOTSUPP: our PIDs are not the kernel's.
 */
int follow_program_init(struct follow_program *program);
void follow_program_deinit(struct follow_program *program);

/* 0 or -errno: -E2BIG: there are FOLLOW_PROCESSES_MAX. */
int follow_program_add(const struct follow_program *program, uint32_t pid);

/* How many processes there was no room for. */
uint64_t follow_program_count_refused(const struct follow_program *program);
