/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the unwind tables of images. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/cfi.h"
#include "common/unwind/go-pclntab.h"
#include "common/unwind/unwind-arch.h"
#include "common/unwind/unwind-lookup.h"

enum {
	UNWIND_PAGES_MAX = 1 << 16, /* 4 GiB of file, first to last code */
	UNWIND_PIECES_MAX = 16,	    /* of a description; its program is run for each of them */
	UNWIND_RULES_MAX = 65534,   /* of one image; the rest of its rows is FALLBACK */
};

/* A loaded part of the file. */
struct unwind_segment {
	uint64_t offset, size; /* in the file */
	uint64_t address;      /* as linked */
	uint64_t code;	       /* the address of the first code in it */
};

/* What a table is made of: bytes of any file, so that anything can be compiled anywhere. */
struct unwind_source {
	const struct unwind_arch *arch;
	const struct unwind_segment *segments; /* executable ones */
	size_t n_segments;
	const struct cfi_section *sections; /* in the order of their precedence */
	size_t n_sections;
	struct unwind_code *code;    /* NULL: what it alone tells is left as the sections have it */
	const struct plt_code *plts; /* which speak for themselves where no section does */
	size_t n_plts;
	const struct go_pclntab *go; /* likewise, and which functions nobody calls; NULL: none */
};

/* The part of the file that is loaded to an address; NULL: none. */
static inline const struct unwind_segment *unwind_source_segment(const struct unwind_source *source,
								 uint64_t address)
{
	for (size_t i = 0; i < source->n_segments; i++)
		if (address - source->segments[i].address < source->segments[i].size)
			return &source->segments[i];
	return NULL;
}

/* 0 or -ENOMEM. What is damaged in the source makes rows of FALLBACK, or none. */
int unwind_table_compile(const struct unwind_source *source, struct unwind_table *ret);
void unwind_table_deinit(struct unwind_table *table);

/*
 * Makes a table of the bytes of one, which are borrowed and may be damaged: false: they are no
 * table. Whatever they hold, no look-up leaves them.
 */
bool unwind_table_view(const void *bytes, size_t size, struct unwind_table *ret);
