/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the unwind information of an ELF file into plain bytes that outlive the file. */
#pragma once

#include "common/elf/elf-image.h"
#include "common/elf/elf-limits.h"
#include "common/unwind/unwind-table.h"

enum {
	UNWIND_SECTION_MAX = ELF_LOADED_MAX, /* bytes; a larger section is not read */
	UNWIND_PLTS_MAX = 8,		     /* per file; linkers make up to 4 */
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
 * Reads .eh_frame (by its section or by PT_GNU_EH_FRAME), .debug_frame, the code of PLTs (by
 * section) and Go's table of functions; without any there are no sections. Returns 0; -ENOTSUP: no
 * tables are made for its machine; -EFBIG, -EBADMSG: a section is too large or unreadable; or
 * -errno.
 */
int unwind_bytes_read(const struct elf_image *image, struct unwind_bytes *ret);
void unwind_bytes_deinit(struct unwind_bytes *bytes);

/*
 * Hides the FDEs of dropped functions in .debug_frame (unwind_source_drop_others()) from libdw,
 * too: in the bytes that libelf has read, they get an address where nothing can be. Not for a file
 * in memory.
 */
void unwind_source_hide_dropped(const struct elf_image *image);
