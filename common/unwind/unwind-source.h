/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The unwind information of an ELF file, as plain bytes that need the file no more. */
#pragma once

#include "common/elf/elf-image.h"
#include "common/elf/elf-limits.h"
#include "common/unwind/unwind-table.h"

enum {
	UNWIND_SECTION_MAX = ELF_LOADED_MAX, /* bytes; a larger one is not read */
	UNWIND_PLTS_MAX = 8,		     /* of a file; linkers make up to 4 */
};

struct unwind_bytes {
	struct unwind_source source; /* points into the rest */
	struct unwind_segment segments[ELF_IMAGE_SEGMENTS_MAX];
	struct cfi_section sections[2]; /* .eh_frame, .debug_frame */
	uint8_t *owned[2];
	struct unwind_code code;
	struct plt_code plts[UNWIND_PLTS_MAX];
	uint8_t *owned_plts[UNWIND_PLTS_MAX];
	struct go_pclntab go;
	uint8_t *owned_go;
};

/*
 * Reads what `image` has: .eh_frame, found by its section or by PT_GNU_EH_FRAME, .debug_frame,
 * the code of its PLTs, found by their sections, and what a Go program tells its runtime.
 * 0; -ENOTSUP: not of a machine that tables are made for; -EFBIG: a section is too large; -EBADMSG:
 * one cannot be read; -ENOMEM. Without any information there are no sections.
 */
int unwind_bytes_read(const struct elf_image *image, struct unwind_bytes *ret);
void unwind_bytes_deinit(struct unwind_bytes *bytes);

/*
 * Has libdw, too, find nothing by the descriptions in .debug_frame of what was dropped
 * (unwind_source_drop_others()): in the section's bytes as libelf has read them they get another
 * address, at which nothing can be. Not of a file in memory.
 */
void unwind_source_hide_dropped(const struct elf_image *image);
