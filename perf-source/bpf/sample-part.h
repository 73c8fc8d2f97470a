/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a thread, as our BPF programs emit it before the sample that it belongs to. */
#pragma once

#include <stdint.h>

enum { SAMPLE_PART_MAX = 60 * 1024 }; /* bytes: a record has 64 KiB at most */

enum sample_part_kind {
	SAMPLE_PART_STACK,   /* of its stack; `address` is that of its bytes */
	SAMPLE_PART_CONTEXT, /* its thread context; it comes before those of its stack */
};

/* Followed by `size` bytes. In a record it lies behind a size of four bytes. */
struct sample_part {
	uint64_t sp; /* the sample's stack pointer */
	uint64_t address;
	uint32_t size;
	uint16_t kind; /* enum sample_part_kind */
	/* Of a stack: enum wire_stack_cut, 0: another part follows. Else enum wire_context_state.
	 */
	uint16_t end;
} __attribute__((packed, aligned(4)));
