/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Kernel functions that write a task's user registers one by one: when a signal is delivered, and
 * at the return from its handler. A sample that interrupts one may have the new stack pointer and
 * the old program counter, and its stack would be plausible but wrong.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/stream/kallsyms.h"

enum { REGISTER_WRITERS_MAX = 16 };

/* All zero: none is known, as where kernel addresses are hidden. */
struct register_writers {
	struct kallsyms_range list[REGISTER_WRITERS_MAX];
	size_t n;
	uint64_t entry_start, entry_end; /* code by which interrupts enter */
};

/* `text` is that of /proc/kallsyms. */
void register_writers_find(struct register_writers *writers, const char *text, size_t size);

/*
 * Whether a sample's kernel call chain (innermost first, with or without perf's PERF_CONTEXT_…
 * marks) shows that one was interrupted, by the sample or by the code that was sampled.
 */
bool register_writers_were_interrupted(const struct register_writers *writers,
				       const uint64_t *chain, size_t n);
