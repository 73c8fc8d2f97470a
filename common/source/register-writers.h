/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of the kernel that write a task's user registers, one after the other: when a signal is
 * delivered, and at the return from its handler. A sample that interrupts one of them may have the
 * stack pointer of after and the program counter of before: a stack of these is plausible and
 * wrong.
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
	uint64_t entry_start, entry_end; /* code through which interrupts come in */
};

/* `text` is that of /proc/kallsyms. */
void register_writers_find(struct register_writers *writers, const char *text, size_t size);

/*
 * Whether a sample's kernel call chain, innermost first, with perf's marks (PERF_CONTEXT_…) or
 * without, says that one of them was interrupted: by the sample, or by what was sampled.
 */
bool register_writers_were_interrupted(const struct register_writers *writers,
				       const uint64_t *chain, size_t n);
