/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The map of followed PIDs, which follow.bpf.c writes and sample.bpf.c reads. */
#pragma once

#include "perf-source/bpf/kernel-types.h"

enum { FOLLOW_PROCESSES_MAX = 1 << 16 }; /* alive at once */

struct followed_set {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FOLLOW_PROCESSES_MAX);
	__type(key, uint32_t);
	__type(value, uint64_t);
};
