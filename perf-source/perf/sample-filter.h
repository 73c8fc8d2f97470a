/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which samples of a counter are wanted: others the kernel drops before it copies any stack. The
 * form is that of `perf record --filter` for such events:
 *
 *	GROUP,GROUP…	all of them hold
 *	TERM||TERM…	a group: one of them holds
 *	NAME==VALUE, NAME!=VALUE
 *
 * of pid, tid, uid, gid, comm, and cgroup: a path below the root of control groups (version 2),
 * with all groups below it. Numbers are those of the initial namespaces. What a tracepoint takes is
 * another form, the kernel's own (Documentation/trace/events.rst).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SAMPLE_FILTER_TERMS_MAX = 16, SAMPLE_FILTER_COMM_SIZE = 16 };

enum sample_filter_field {
	FILTER_PID,
	FILTER_TID,
	FILTER_UID,
	FILTER_GID,
	FILTER_COMM,
	FILTER_CGROUP,
};

struct sample_filter_term {
	enum sample_filter_field field;
	bool is_equal; /* else it must be different */
	bool ends_group;
	uint64_t number;		    /* of a control group its id */
	int level;			    /* of a control group: how deep it lies */
	char comm[SAMPLE_FILTER_COMM_SIZE]; /* zeros behind its end */
};

struct sample_filter {
	struct sample_filter_term terms[SAMPLE_FILTER_TERMS_MAX];
	size_t n;
	int program_fd, skipped_fd; /* owned; -1: not loaded */
};

/*
 * Understands a filter: 0 or -errno: -EINVAL: it is not of that form; -E2BIG: too many terms;
 * -ENOENT: there is no such control group, or none of version 2. `ret_at`, if not NULL, is where in
 * `text` it was not understood.
 */
int sample_filter_parse(const char *text, struct sample_filter *ret, const char **ret_at);

/*
 * Makes the program of it: 0 or -errno: -EPERM: that takes CAP_BPF. With `followed_fd`
 * (follow-program.h; -1: none) it passes none but those of the set, and does not count others; a
 * filter without terms passes all of them.
 */
int sample_filter_load(struct sample_filter *filter, int followed_fd);
void sample_filter_unload(struct sample_filter *filter);

/* Samples that it has left out so far. */
uint64_t sample_filter_skipped(const struct sample_filter *filter);
