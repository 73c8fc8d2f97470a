/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A part of a deep stack, as sample.bpf.c emits it before the sample that it belongs to. */
#pragma once

#include <stdint.h>

enum { STACK_PART_MAX = 60 * 1024 }; /* bytes: a record has 64 KiB at most */

/* Followed by `size` bytes. In a record it lies behind a size of four bytes. */
struct stack_part {
	uint64_t sp; /* the sample's stack pointer */
	uint64_t address;
	uint32_t size;
	uint32_t cut; /* enum wire_stack_cut; 0: another part follows */
} __attribute__((packed, aligned(4)));
