/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined calls and source lines of one ELF file, from its DWARF (2 to 5, also split and shared):
 * an index of units by address, and for each unit looked up a table of its functions and inlined
 * calls (inline-table.h). Answers are not cached: callers remember named places.
 *
 * An answer may be incomplete (a limit, damage, a missing file), but is never made up. Files are
 * read, never mapped, except .dwo and .dwp, which libdw opens and maps by itself: allowed only
 * where regular files lie (debug-split.h).
 */
#pragma once

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/debug-files.h"

enum {
	DEBUG_INFO_UNITS_MAX = 1 << 20,	 /* units with code; further ones are left out */
	DEBUG_INFO_RANGES_MAX = 1 << 22, /* in all units; further ones are left out */
	DEBUG_INFO_CALLS_MAX = 128,	 /* nested calls; beyond it only the function is reported */
};

/* Decompressed bytes of .debug_* of a file and of the files that it shares DWARF with. */
#define DEBUG_INFO_SECTIONS_MAX (448ULL << 20)
#define DEBUG_INFO_TABLES_MAX (192ULL << 20) /* bytes of tables of all units */
#define DEBUG_INFO_LINES_MAX (256ULL << 20)  /* bytes of line programs run per file */

enum debug_info_outcome {
	DEBUG_INFO_OK = 0,
	DEBUG_INFO_E_NONE,	/* no readable DWARF, or an unlinked file */
	DEBUG_INFO_E_TOO_LARGE, /* beyond DEBUG_INFO_SECTIONS_MAX */
};

/* A call at an address. Its strings live as long as the debug_info. */
struct inline_call {
	const char *name;      /* linkage name, else plain name; NULL: unknown */
	const char *file;      /* of the address in this function; NULL: unknown */
	uint32_t line, column; /* 0: unknown */
};

/* Counts of what was left out because of a limit or damage. */
struct debug_info_refused {
	uint64_t units;	    /* with everything in them */
	uint64_t ranges;    /* of units */
	uint64_t functions; /* without their inlined calls */
	uint64_t dies;	    /* damaged */
	uint64_t lines;	    /* line programs */
	uint64_t calls;	    /* answers longer than the caller's list */
};

struct debug_info;

/*
 * Reads the DWARF of `elf`, which must stay open until debug_info_free(), as must `fd`, its
 * descriptor (-1: in memory). `path` is where the file lies; `dirs` may have dwz's alternative
 * file. A positive outcome, or -ENOMEM.
 */
int debug_info_new(Elf *elf, int fd, const char *path, const struct debug_dirs *dirs,
		   struct debug_info **ret);

/* Approximate bytes in use. */
uint64_t debug_info_size(const struct debug_info *info);
struct debug_info *debug_info_free(struct debug_info *info);

/*
 * Fills `list` with the calls at a linked address, innermost first. The last one is the function
 * itself; its symbol, if any, is the better name (it shows clones). The innermost call's location
 * is from the line table; each other one's is where it made the previous call. Returns their
 * number, 0: unknown; or -ENOMEM.
 */
int debug_info_find(struct debug_info *info, uint64_t address, struct inline_call *list,
		    size_t n_max);

/*
 * The name of the function at an address, as above; NULL: none, or several claim the address, or
 * parts of the file could not be read. 0 or -ENOMEM.
 */
int debug_info_find_only_function(struct debug_info *info, uint64_t address, const char **ret);

const struct debug_info_refused *debug_info_refused(const struct debug_info *info);
