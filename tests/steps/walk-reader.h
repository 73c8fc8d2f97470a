/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs a walk program on the memory of a stopped process, as the program in the kernel does at a
 * sample (perf-source/bpf/read-walk.h).
 */
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include "common/base/pair-map.h"
#include "common/source/processes.h"
#include "perf-source/context/runtime.h"

struct walk_reader {
	pid_t pid; /* 0: none */
	struct runtime runtime;
	struct pair_map seen; /* (address, identity): emitted */
	uint64_t n_numbers;
	uint64_t kept[WALK_LISTS_MAX];
	uint64_t head, array, head_next; /* of a list of heads with arrays: what is next */
	uint64_t aside, aside_back;	 /* the object whose element is read, and what follows */
	char bytes[WIRE_WALK_MAX + WALK_WINDOW_MAX]; /* of the last walk, until the next one */
	size_t size;
};

void walk_reader_deinit(struct walk_reader *reader);

/* Finds the interpreter of a process, and emits it. 0, -ENOENT: it has none, or -errno. */
int walk_reader_begin(struct walk_reader *reader, struct processes *processes, pid_t pid,
		      uint64_t time);

/* Reads what a thread executes: emits new objects, and sets sample->walk. 0 or -errno. */
int walk_reader_read(struct walk_reader *reader, struct stage *stage,
		     const struct user_regs_struct *registers, struct wire_sample *sample);
