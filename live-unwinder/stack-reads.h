/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a thread's last stack was read: its next stack is mostly read there too, as outer frames
 * recur, and is not cached yet. Prefetching all of it costs as much time as one read; otherwise
 * each read waits for the previous one's address.
 */
#pragma once

#include "common/wire/wire.h"

enum {
	STACK_READS_THREADS = 16, /* a power of two; more threads share slots */
	STACK_READS_MAX = 30,	  /* per stack, the innermost */
};

struct stack_reads {
	uint64_t process;
	uint32_t tid, n;
	uint64_t addresses[STACK_READS_MAX];
};

/* Prefetches the addresses that the thread's last stack was read at, and starts a new list. */
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

/* Adds the address of a frame's return address; its other saved registers are beside it. */
static inline void stack_reads_add(struct stack_reads *reads, uint64_t address)
{
	if (reads->n < STACK_READS_MAX)
		reads->addresses[reads->n++] = address;
}
