/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a thread, as our BPF programs emit it before the sample that it belongs to. */
#pragma once

#include <stdint.h>

enum {
	SAMPLE_PART_MAX = 65440,     /* bytes: with it a record of 64 KiB is full */
	SAMPLE_RECORD_OVERHEAD = 52, /* bytes of a record (PERF_RECORD_RAW_TYPE) before a part */
};

/* In the order in which they come. */
enum sample_part_kind {
	SAMPLE_PART_CONTEXT, /* its thread context; threads of most processes have none */
	SAMPLE_PART_MEMORY,  /* an object of its interpreter, behind its identity */
	SAMPLE_PART_WALK,    /* what its interpreter executes (walk-program.h) */
	SAMPLE_PART_WORDS,   /* the words of its stack that a walk in the kernel took (read-words.h)
			      */
	SAMPLE_PART_STACK,   /* its stack, from the stack pointer on */
	SAMPLE_PART_DEEPER,  /* what continues a stack that does not fit into one part */
};

/* Followed by `size` bytes. In a record it lies behind a size of four bytes. */
struct sample_part {
	uint64_t sp;	  /* the sample's stack pointer */
	uint64_t address; /* of the bytes of a stack or an object */
	uint32_t size;
	uint16_t kind; /* enum sample_part_kind */
	/*
	 * Of a context: enum wire_context_state. Of a stack: enum wire_stack_cut; 0: it is no deep
	 * one, or another part follows.
	 */
	uint16_t end;
} __attribute__((packed, aligned(4)));
