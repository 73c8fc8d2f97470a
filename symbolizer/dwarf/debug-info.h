/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined calls and source lines of one ELF file, from its DWARF (2 to 5, split and shared, too):
 * an index of units by address, and for each unit that is hit a table of its functions and what was
 * inlined into them (inline-table.h). Answers are not kept: whoever asks again for the same place
 * knows it already.
 *
 * An answer may lack something (a limit, damage, a file that is not there), but is not made up.
 * The files are read, never mapped, but for .dwo and .dwp, which libdw opens and maps by itself:
 * only if regular files lie there (debug-split.h).
 */
#pragma once

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolizer/dwarf/debug-files.h"

enum {
	DEBUG_INFO_UNITS_MAX = 1 << 20,	 /* units with code; further ones are left out */
	DEBUG_INFO_RANGES_MAX = 1 << 22, /* of all units; further ones are left out */
	DEBUG_INFO_CALLS_MAX = 128, /* inlined into each other; else only the function is told */
};

/* Bytes of .debug_* of a file and of those that it shares them with, decompressed. */
#define DEBUG_INFO_SECTIONS_MAX (448ULL << 20)
#define DEBUG_INFO_TABLES_MAX (192ULL << 20) /* bytes of all tables of a file's units */
#define DEBUG_INFO_LINES_MAX (256ULL << 20)  /* bytes of line programs that are run, of a file */

enum debug_info_outcome {
	DEBUG_INFO_OK = 0,
	DEBUG_INFO_E_NONE,	/* no DWARF that can be read, or of a file that is not linked */
	DEBUG_INFO_E_TOO_LARGE, /* its sections are beyond DEBUG_INFO_SECTIONS_MAX */
};

/* One of the calls that an address belongs to. Its strings live as long as the debug_info. */
struct inline_call {
	const char *name;      /* the linkage name, else the plain one; NULL: not known */
	const char *file;      /* where in this function the address is; NULL: not known */
	uint32_t line, column; /* 0: not known */
};

/* What was left out, for one of the limits or because it is damaged. */
struct debug_info_refused {
	uint64_t units;	    /* with all that is in them */
	uint64_t ranges;    /* of units */
	uint64_t functions; /* what was inlined into them */
	uint64_t dies;	    /* damaged */
	uint64_t lines;	    /* line programs */
	uint64_t calls;	    /* answers that were longer than the caller's list */
};

struct debug_info;

/*
 * Reads the DWARF of `elf`, which must stay open until debug_info_free(), as must `fd`, its
 * descriptor (-1: it is in memory). `path` is where the file lies; `dirs` are where a file that it
 * shares DWARF with (of dwz) may lie, too. A positive outcome, or -ENOMEM.
 */
int debug_info_new(Elf *elf, int fd, const char *path, const struct debug_dirs *dirs,
		   struct debug_info **ret);

/* Bytes that it takes by now, about. */
uint64_t debug_info_size(const struct debug_info *info);
struct debug_info *debug_info_free(struct debug_info *info);

/*
 * Fills `list` with the calls that an address, as linked, belongs to, the innermost first; the last
 * is of the function itself, for which its symbol, where it has one, is the better name (it tells
 * clones). The innermost has its place from the line table, each other one the place where the one
 * before was called. How many there are, 0: nothing is known; or -ENOMEM.
 */
int debug_info_find(struct debug_info *info, uint64_t address, struct inline_call *list,
		    size_t n_max);

/*
 * The name of the function at an address, as above; NULL: there is none, or several claim to be
 * there, or some of the file's could not be read. 0 or -ENOMEM.
 */
int debug_info_find_only_function(struct debug_info *info, uint64_t address, const char **ret);

const struct debug_info_refused *debug_info_refused(const struct debug_info *info);
