/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of JIT code in /tmp/perf-PID.map, in the order of its making: lines of "START SIZE name"
 * with hexadecimal numbers. A later line replaces what it covers.
 *
 * The file has no times, but repeated reading shows between which two readings a line was written,
 * and thus what was there at a time, except for a short time around it. If a compiler writes late,
 * only code that was never replaced has a name for the time before. At a limit older code is
 * dropped: no name is better than a replaced one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/name-store.h"
#include "common/file/growing-file.h"
#include "common/image-server/target-file.h" /* PERF_MAP_SIZE_MAX */
#include "common/jit/code-history.h"

enum {
	PERF_MAP_ENTRIES_MAX = 1 << 19, /* one more drops all before it */
	PERF_MAP_NAME_MAX = 4095,	/* bytes; longer ones are cut */
	PERF_MAP_LINE_MAX = PERF_MAP_NAME_MAX + 64,
	PERF_MAP_READINGS_MAX = 1 << 14, /* one more merges neighbours */
};

struct perf_map_entry {
	uint64_t start, size;
	const char *name; /* never empty, not sanitized; valid until the next read */
	size_t piece;	  /* number; unchanged while no other code was there */
};

/* Consecutive readings that found the same number of pieces. */
struct perf_map_reading {
	uint64_t ended; /* the first one, in CLOCK_MONOTONIC: all lines were written before this */
	uint64_t begun; /* the last one: all lines written before this are known */
	size_t n;	/* pieces of code */
};

struct perf_map {
	struct growing_file file;
	struct code_history code;
	struct name_store names;
	uint32_t *name_list; /* one per piece of code */
	char *line;	     /* incomplete line */
	size_t line_size;    /* PERF_MAP_LINE_MAX + 1: the line is longer */
	uint64_t size;	     /* bytes read */
	struct perf_map_reading *readings;
	size_t n_readings;
	bool is_behind; /* the file may have unread bytes */

	/* Since initialization, across files that were written anew. */
	uint64_t n_anew;
	uint64_t n_refused_bytes;     /* beyond PERF_MAP_SIZE_MAX */
	uint64_t n_forgotten_entries; /* at PERF_MAP_ENTRIES_MAX or NAME_STORE_MAX */
	uint64_t n_cut_names;
	uint64_t n_bad_lines; /* not parsed */
};

/* A zeroed struct is initialized. */
void perf_map_deinit(struct perf_map *map);

/* Bytes of memory, at most. */
size_t perf_map_memory(const struct perf_map *map);

/* Takes the file's next bytes, cut anywhere. 0 or -ENOMEM; then only deinitialize the map. */
int perf_map_add(struct perf_map *map, const char *bytes, size_t size);

/*
 * Reads bytes appended to the file since, or everything if it was written anew; about `most` bytes
 * now. `fd` must be a regular file (common/image-server/target-file.h). 0 or -errno.
 */
int perf_map_read(struct perf_map *map, int fd, uint64_t most);

/* The code at an address at a time in CLOCK_MONOTONIC; false: none, or uncertain. */
bool perf_map_find_at(const struct perf_map *map, uint64_t address, uint64_t time,
		      struct perf_map_entry *ret);
