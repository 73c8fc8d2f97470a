/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compiles the unwind tables of images (unwind-lookup.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/cfi.h"
#include "common/unwind/go-pclntab.h"
#include "common/unwind/unwind-arch.h"
#include "common/unwind/unwind-lookup.h"

enum {
	UNWIND_PAGES_MAX = 1 << 16, /* 4 GiB of file, from the first to the last code */
	UNWIND_PIECES_MAX = 16,	    /* pieces of an FDE; its program is run for each */
	UNWIND_RULES_MAX = 65534,   /* rules of an image; further ones become FALLBACK */
};

/* A loaded segment of the file. */
struct unwind_segment {
	uint64_t offset, size; /* in the file */
	uint64_t address;      /* as linked */
	uint64_t code;	       /* address of the first code in it */
};

/* What a table is made from: plain bytes, so that any file can be compiled on any machine. */
struct unwind_source {
	const struct unwind_arch *arch;
	const struct unwind_segment *segments; /* executable ones */
	size_t n_segments;
	const struct cfi_section *sections; /* in order of precedence */
	size_t n_sections;
	struct unwind_code *code;    /* NULL: no rules are inferred from code */
	const struct plt_code *plts; /* give rules where no section does */
	size_t n_plts;
	const struct go_pclntab
		*go; /* likewise, and marks functions without a caller; NULL: none */
};

/* Returns the segment that holds an address; NULL: none. */
static inline const struct unwind_segment *unwind_source_segment(const struct unwind_source *source,
								 uint64_t address)
{
	for (size_t i = 0; i < source->n_segments; i++)
		if (address - source->segments[i].address < source->segments[i].size)
			return &source->segments[i];
	return NULL;
}

/* 0 or -ENOMEM. Damaged parts of the source yield FALLBACK rows, or none. */
int unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret);
void unwind_table_deinit(struct unwind_table *table);

/*
 * Makes a table from bytes, which are borrowed and may be damaged; false: they are not a table.
 * Whatever they hold, no lookup leaves them.
 */
bool unwind_table_view(const void *bytes, size_t size, struct unwind_table *ret);
