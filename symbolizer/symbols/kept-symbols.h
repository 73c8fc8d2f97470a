/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was worked out of an image, kept on disk for the next symbolizer (common/file/kept-file.h):
 * its symbols, the bounds of its functions, inlined calls and lines. It is found by all files that
 * it was made of: which these are is looked for each time, but not what they say.
 */
#pragma once

#include "common/unwind/table-cache.h"
#include "symbolizer/dwarf/call-table.h"
#include "symbolizer/symbols/code-ranges.h"
#include "symbolizer/symbols/symbol-table.h"

struct kept_symbols_key {
	struct table_cache_key image;
	struct file_key symbols, dwarf; /* of separate debug files; all 0: none */
	uint64_t depth;			/* of what is looked for */
};

struct kept_symbols {
	struct kept_file file;
	const struct kept_head *head;
	const struct kept_symbol *symbols;
	const struct code_range *ranges;
	struct call_table calls;
	bool has_debug; /* there was DWARF */
};

/* Opens the directory of kept symbols; -1: nothing is kept. */
int kept_symbols_open(void);

/* 0; -ENOENT: there are none, or they are not trusted. */
int kept_symbols_load(int directory, const struct kept_symbols_key *key, struct kept_symbols *ret);
void kept_symbols_unload(struct kept_symbols *kept);

/* Make copies, whose names stay in the file. 0 or -ENOMEM. */
int kept_symbols_copy_table(const struct kept_symbols *kept, struct symbol_table *ret);
int kept_symbols_copy_ranges(const struct kept_symbols *kept, struct code_ranges *ret);

/* What is to be kept. */
struct kept_parts {
	const struct symbol_table *table;
	const struct code_ranges *ranges;
	struct call_builder *calls; /* their strings get the symbols' names, too */
	bool has_debug;
};

/* 0 or -errno, which may be ignored. */
int kept_symbols_save(int directory, const struct kept_symbols_key *key,
		      const struct kept_parts *parts);
