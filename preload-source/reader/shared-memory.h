/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory shared with traced programs: of a fixed size; if only we write to it, sealed against
 * writes.
 */
#pragma once

#include <stdint.h>

enum shared_memory_writers {
	SHARED_WITH_WRITERS, /* any process with the descriptor may write */
	SHARED_WITH_READERS, /* only we may write */
};

struct shared_memory {
	int fd; /* -1: none */
	void *bytes;
	uint64_t size;
};

/* 0 or -errno */
int shared_memory_make(struct shared_memory *ret, const char *name, uint64_t size,
		       enum shared_memory_writers writers);
void shared_memory_deinit(struct shared_memory *memory);
