/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the last stack of a thread was read: mostly the next one is read there too, as its outer
 * frames are the same, and it lies in no cache yet. To ask for all of it at once costs as much time
 * as one read, and they would come one after the other, each telling where the next one is.
 */
#pragma once

#include "common/wire/wire.h"

enum {
	STACK_READS_THREADS = 16, /* a power of two; others share their places */
	STACK_READS_MAX = 30,	  /* of a stack, the innermost */
};

struct stack_reads {
	uint64_t process;
	uint32_t tid, n;
	uint64_t addresses[STACK_READS_MAX];
};

/* Asks for what the thread's last stack was read at, and begins anew. */
static inline struct stack_reads *stack_reads_begin(struct stack_reads *threads,
						    const struct wire_sample *sample,
						    uint64_t stack_start)
{
	struct stack_reads *reads = &threads[sample->tid & (STACK_READS_THREADS - 1)];
	const char *stack = sample->stack.data;

	if (reads->process == sample->process && reads->tid == sample->tid)
		for (uint32_t i = 0; i < reads->n; i++)
			if (reads->addresses[i] - stack_start < sample->stack.size)
				__builtin_prefetch(stack + (reads->addresses[i] - stack_start));
	reads->process = sample->process;
	reads->tid = sample->tid;
	reads->n = 0;
	return reads;
}

/* A frame's return address lies here, and beside it what else it has saved. */
static inline void stack_reads_add(struct stack_reads *reads, uint64_t address)
{
	if (reads->n < STACK_READS_MAX)
		reads->addresses[reads->n++] = address;
}
