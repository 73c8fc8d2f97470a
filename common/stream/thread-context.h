/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The record of a thread's context in memory (OTEP 4947), for programs in the kernel as well. */
#pragma once

#include <stdint.h>

enum { THREAD_CONTEXT_IS_VALID = 1 };

/* Attributes follow: the index of a key (a byte), a size (a byte), and so many bytes of text. */
struct thread_context {
	uint8_t trace_id[16], span_id[8];
	uint8_t valid; /* other values: it is being written, or detached */
	uint8_t flags;
	uint16_t attributes_size;
} __attribute__((packed));
