/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names of code that a JIT compiler tells in /tmp/perf-PID.map, as it makes it: lines of
 * "START SIZE name", the numbers hexadecimal. What is told later replaces what it covers.
 *
 * The file has no times; but who reads it again and again knows between which two readings a line
 * was written, and so what was there then, but for a short time around it. Of a compiler that
 * writes late, only what was never replaced has a name for the time before. At a limit what is
 * older goes: a name that is missing is better than one that was replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/image-server/target-file.h" /* PERF_MAP_SIZE_MAX */
#include "common/jit/code-history.h"
#include "common/file/growing-file.h"
#include "common/base/name-store.h"

enum {
	PERF_MAP_ENTRIES_MAX = 1 << 19, /* with one more, all before it are forgotten */
	PERF_MAP_NAME_MAX = 4095,	/* bytes; a longer one is cut */
	PERF_MAP_LINE_MAX = PERF_MAP_NAME_MAX + 64,
	PERF_MAP_READINGS_MAX = 1 << 14, /* with one more, neighbours become one */
};

struct perf_map_entry {
	uint64_t start, size;
	const char *name; /* neither empty nor clean; it stays until more is read */
	size_t piece;	  /* its number: the same one as long as nothing else was there */
};

/* Readings after which the same was known. */
struct perf_map_reading {
	uint64_t ended; /* the first one, of CLOCK_MONOTONIC: all was written before this */
	uint64_t begun; /* the last one: all that was written before this is known */
	size_t n;	/* pieces of code */
};

struct perf_map {
	struct growing_file file;
	struct code_history code;
	struct name_store names;
	uint32_t *name_list; /* one for each piece of code */
	char *line;	     /* one that has not ended yet */
	size_t line_size;    /* up to PERF_MAP_LINE_MAX + 1: it is longer */
	uint64_t size;	     /* bytes that were taken */
	struct perf_map_reading *readings;
	size_t n_readings;
	bool is_behind; /* there may be more in the file than was read */

	/* Since it was initialized, whatever was read anew. */
	uint64_t n_anew;
	uint64_t n_refused_bytes;     /* behind PERF_MAP_SIZE_MAX */
	uint64_t n_forgotten_entries; /* at PERF_MAP_ENTRIES_MAX or NAME_STORE_MAX */
	uint64_t n_cut_names;
	uint64_t n_bad_lines; /* that were not understood */
};

/* Nothing needs to be initialized but to zero. */
void perf_map_deinit(struct perf_map *map);

/* Bytes that it takes, at most. */
size_t perf_map_memory(const struct perf_map *map);

/* Takes the next bytes of the file, cut anywhere. 0, or -ENOMEM: it may only be deinitialized. */
int perf_map_add(struct perf_map *map, const char *bytes, size_t size);

/*
 * Reads what was added to the file since, or all of it if it was written anew; about `most` bytes
 * now, if there are more. `fd` is of a regular file (common/image-server/target-file.h). 0 or
 * -errno.
 */
int perf_map_read(struct perf_map *map, int fd, uint64_t most);

/* The code that held an address at a time of CLOCK_MONOTONIC; false: none did, or nobody knows. */
bool perf_map_find_at(const struct perf_map *map, uint64_t address, uint64_t time,
		      struct perf_map_entry *ret);
