/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A filter of a counter's samples: the kernel drops the others before it copies any stack. The
 * syntax is that of `perf record --filter` for such events:
 *
 *	GROUP,GROUP…	all groups must hold
 *	TERM||TERM…	a group: one of the terms must hold
 *	NAME==VALUE, NAME!=VALUE
 *
 * NAME is pid, tid, uid, gid, comm, or cgroup: a path below the root of control groups (version 2),
 * which includes all groups below it. Numbers are those of the initial namespaces. Tracepoints take
 * the kernel's own syntax instead (Documentation/trace/events.rst).
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
	bool is_equal; /* else "!=" */
	bool ends_group;
	uint64_t number;		    /* of a control group: its id */
	int level;			    /* of a control group: its depth */
	char comm[SAMPLE_FILTER_COMM_SIZE]; /* padded with zeros */
};

struct sample_filter {
	struct sample_filter_term terms[SAMPLE_FILTER_TERMS_MAX];
	size_t n;
	int program_fd, skipped_fd; /* owned; -1: not loaded */
};

/*
 * Parses a filter. 0 or -errno: -EINVAL: bad syntax; -E2BIG: too many terms; -ENOENT: no such
 * control group, or none of version 2. `ret_at`, if not NULL, is the term in `text` that failed.
 */
int sample_filter_parse(const char *text, struct sample_filter *ret, const char **ret_at);

/*
 * Loads the BPF program of the filter. 0 or -errno: -EPERM: it takes CAP_BPF. With `followed_fd`
 * (follow-program.h; -1: none) it drops samples of processes outside that set, without counting
 * them. A filter without terms passes all others.
 */
int sample_filter_load(struct sample_filter *filter, int followed_fd);
void sample_filter_unload(struct sample_filter *filter);

/* How many samples the filter's terms have dropped so far. */
uint64_t sample_filter_skipped(const struct sample_filter *filter);
