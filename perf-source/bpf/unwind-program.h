/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel's walk of a stack looks up (read-words.h): by PID a list of mappings, by mapping
 * an image, by image its unwind table. Programs in the kernel and perf-source share this memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	UNWIND_PROCESSES_MAX = 1 << 14,
	UNWIND_MAPPINGS_MAX = 1 << 17, /* of all processes, */
	UNWIND_MAPPINGS_OF_ONE = 4096, /* and of one */
	UNWIND_IMAGES_MAX = 1 << 13,
	UNWIND_RULES_CACHED = 2048, /* of each CPU; a power of two */
};

/* Of a process: where its mappings of files are in the list of all, by address. */
struct unwind_process {
	uint64_t number; /* of this list; no two have the same */
	uint64_t memory; /* the kernel's address of its memory; 0: not seen yet */
	uint32_t first, n;
};

struct unwind_mapping {
	uint64_t start, end;
	uint64_t offset; /* of `start` in the file */
	uint32_t image;
	uint32_t reserved;
};

/* What is known of a table whose words are in the map of its image (unwind-lookup.h). */
struct unwind_image {
	uint64_t first_page;
	uint32_t n_pages, n_rows, n_rules;
	uint16_t is_ready;
	uint16_t is_wanted; /* the kernel has met code of it */
};

/* Why the kernel's walk left a sample to be copied. */
enum unwind_left {
	UNWIND_LEFT_PROCESS, /* no list is known */
	UNWIND_LEFT_MAPPING, /* nor a file at an address */
	UNWIND_LEFT_TABLE,   /* it has no table yet, or never */
	UNWIND_LEFT_RULE,    /* none, or one that the walk does not follow */
	UNWIND_LEFT_WORD,    /* not in memory */
	UNWIND_LEFT_LIMIT,   /* too many frames, or too much time */
	UNWIND_LEFT_SCRIPT,  /* an interpreter's frames need the whole stack */
	UNWIND_LEFT_N,
};

struct sample_program;

/* The memory that is shared with the loaded programs of samples of a recording. */
struct unwind_program {
	const struct sample_program *program; /* borrowed; NULL: none */
	struct unwind_mapping *mappings;      /* UNWIND_MAPPINGS_MAX of them, */
	struct unwind_image *images;	      /* and UNWIND_IMAGES_MAX */
};

/* `program` must have been loaded with walks of stacks, and outlive this. 0 or -errno. */
int unwind_program_open(struct unwind_program *unwind, const struct sample_program *program);
void unwind_program_close(struct unwind_program *unwind);

/* Sets where a process's mappings are. 0 or -errno: -E2BIG: there are too many processes. */
int unwind_program_set(const struct unwind_program *unwind, uint32_t pid,
		       const struct unwind_process *process);
void unwind_program_remove(const struct unwind_program *unwind, uint32_t pid);

/* Makes an image's table of bytes, which are copied. 0 or -errno. */
int unwind_program_add_table(const struct unwind_program *unwind, uint32_t image, const void *bytes,
			     size_t size);
void unwind_program_remove_table(const struct unwind_program *unwind, uint32_t image);

/* Samples that were left to be copied, by their reason. */
uint64_t unwind_program_count_left(const struct sample_program *program, enum unwind_left why);
