/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory that is shared with traced programs: ours, of a size that nobody can change, and what only
 * we write to nobody else can write to.
 */
#pragma once

#include <stdint.h>

enum shared_memory_writers {
	SHARED_WITH_WRITERS, /* who has the descriptor may write */
	SHARED_WITH_READERS, /* nobody but us */
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
