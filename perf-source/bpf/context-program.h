/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The BPF programs of contexts (context.bpf.c): who publishes one, and maps with the places of
 * thread contexts and with walk programs, which programs of samples and waits read. A process is
 * expected before anything of it is read: what was found is set only if it has not executed another
 * program meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "perf-source/bpf/context-place.h"
#include "perf-source/bpf/walk-program.h"

struct context_program {
	struct context_bpf *skeleton; /* NULL: not loaded */
	bool watches;		      /* mappings that are named; else they are to be looked for */
	uint64_t n_taken;
};

/*
 * Makes empty maps and starts the programs; up to `walks_max` processes can have a walk program. 0,
 * or -errno with nothing loaded, as of follow_program_init().
 */
int context_program_init(struct context_program *program, uint32_t walks_max);
void context_program_deinit(struct context_program *program);

static inline bool context_program_is_loaded(const struct context_program *program)
{
	return program->skeleton;
}

/*
 * A context, or a walk program, is expected. 0 or -errno: -E2BIG: the map is full. What is known of
 * the process stays.
 */
int context_program_expect(const struct context_program *program, uint32_t pid);
int context_program_expect_walk(const struct context_program *program, uint32_t pid);

/* 0 or -errno: -ENOENT: the process has executed another program, or has ended. */
int context_program_set(const struct context_program *program, uint32_t pid,
			const struct context_place *place);

/* The same for a valid walk program; its incarnation is chosen here. */
int context_program_set_walk(const struct context_program *program, uint32_t pid,
			     const struct walk_program *walk);

/* Takes a process that has named its mapping since. False: there is none. */
bool context_program_take(struct context_program *program, uint32_t *ret_pid,
			  uint64_t *ret_address);

/* How often that was not noted. */
uint64_t context_program_count_refused(const struct context_program *program);

/* How many forked children did not get their parent's walk program. */
uint64_t context_program_count_refused_walks(const struct context_program *program);
