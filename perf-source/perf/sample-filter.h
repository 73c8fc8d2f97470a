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

#include <stddef.h>

#include "perf-source/bpf/sample-terms.h"

struct sample_filter {
	struct sample_term terms[SAMPLE_TERMS_MAX];
	size_t n;
};

/*
 * Parses a filter. 0 or -errno: -EINVAL: bad syntax; -E2BIG: too many terms; -ENOENT: no such
 * control group, or none of version 2. `ret_at`, if not NULL, is the term in `text` that failed.
 */
int sample_filter_parse(const char *text, struct sample_filter *ret, const char **ret_at);
