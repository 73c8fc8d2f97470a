/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads call frame information (CFI) of .eh_frame (LSB, "Exception Frames") and .debug_frame (DWARF
 * 5, 6.4) into a list of its FDEs, each for a range of code. Any byte may be hostile: nothing is
 * read outside the section, and entries that contradict themselves are refused and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/dwarf-cursor.h"

/* Bytes of a CIE's program, which is run for each of its FDEs; compilers need 10. */
enum { CFI_COMMON_PROGRAM_MAX = 256 };

enum cfi_kind { CFI_EH_FRAME, CFI_DEBUG_FRAME };

struct cfi_section {
	enum cfi_kind kind;
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* of its first byte, as linked */
};

/* A CIE: what several FDEs share. */
struct cfi_common {
	size_t at; /* offset in the section */
	const uint8_t *program, *program_end;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_address; /* DWARF's number of the return address register */
	uint8_t encoding;	 /* DW_EH_PE_…, of the addresses in its FDEs */
	bool has_augmentation_size;
	bool is_signal_frame;
	bool is_good;
};

struct cfi_description {
	uint64_t start, end; /* addresses as linked; `end` is exclusive */
	const uint8_t *program, *program_end;
	const uint8_t *range; /* `start` and its length, as encoded in the section */
	uint64_t common;      /* index of its CIE in `commons` */
};

struct cfi {
	struct cfi_section section;   /* its bytes are borrowed */
	struct cfi_description *list; /* sorted by start; none is empty */
	size_t n;
	struct cfi_common *commons;
	size_t n_commons;
	uint64_t n_refused; /* malformed FDEs, or FDEs without a good CIE */
};

/* Lists the FDEs of a section, sorted. 0 or -ENOMEM. The section's bytes must stay. */
int cfi_read(const struct cfi_section *section, struct cfi *ret);
void cfi_deinit(struct cfi *cfi);

/* The address, as linked, of a byte of the section. */
static inline uint64_t cfi_address(const struct cfi_section *section, const uint8_t *at)
{
	return section->address + (at - section->bytes);
}

/* Reads an address encoded as DW_EH_PE_…; `address` is that of the encoded value itself. */
uint64_t cfi_take_encoded(struct dwarf_cursor *cursor, uint8_t encoding, uint64_t address);
