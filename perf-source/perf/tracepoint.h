/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tracepoints of the kernel, from tracefs (Documentation/trace/events.rst): the id that
 * perf_event_open(2) takes, and where the fields lie in PERF_SAMPLE_RAW.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Where a field lies in a tracepoint's data. */
struct tracepoint_field {
	uint32_t offset, size;
};

/* Opens a file below tracefs. A descriptor or -errno: -ENOENT: tracefs is not mounted; -EACCES. */
int tracefs_open(const char *file, int flags);

/* 0 or -errno: -ENOENT: no such tracepoint, or tracefs is not mounted; -EACCES. */
int tracepoint_find(const char *group, const char *name, uint32_t *ret_id);

/* 0 or -errno: -ENOENT: no such tracepoint or field; -EACCES. */
int tracepoint_find_field(const char *group, const char *name, const char *field,
			  struct tracepoint_field *ret);
