/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Call frame information as it lies in .eh_frame (LSB, "Exception Frames") and .debug_frame (DWARF
 * 5, 6.4): its descriptions (FDEs), each of a range of code. Every byte of it may be hostile;
 * nothing is read outside the section, and what contradicts itself is left out and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/elf/dwarf-cursor.h"

/* Bytes of the program of a CIE, which is run for each of its descriptions; compilers need 10. */
enum { CFI_COMMON_PROGRAM_MAX = 256 };

enum cfi_kind { CFI_EH_FRAME, CFI_DEBUG_FRAME };

struct cfi_section {
	enum cfi_kind kind;
	const uint8_t *bytes;
	size_t size;
	uint64_t address; /* of its first byte, as linked */
};

/* What several descriptions have in common (a CIE). */
struct cfi_common {
	size_t at; /* where it lies in the section */
	const uint8_t *program, *program_end;
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_address; /* DWARF's number of its register */
	uint8_t encoding;	 /* of addresses (DW_EH_PE_…) */
	bool has_augmentation_size;
	bool is_signal_frame;
	bool is_good;
};

struct cfi_description {
	uint64_t start, end; /* addresses as linked; end: the first one behind */
	const uint8_t *program, *program_end;
	const uint8_t *range; /* where the section says `start` and how long it is */
	uint64_t common;      /* its index in struct cfi */
};

struct cfi {
	struct cfi_section section;   /* its bytes are borrowed */
	struct cfi_description *list; /* by start; none empty */
	size_t n;
	struct cfi_common *commons;
	size_t n_commons;
	uint64_t n_refused; /* descriptions that contradict themselves */
};

/* Lists the descriptions of a section, sorted. 0 or -ENOMEM. The section's bytes must stay. */
int cfi_read(const struct cfi_section *section, struct cfi *ret);
void cfi_deinit(struct cfi *cfi);

/* The address of a byte of the section. */
static inline uint64_t cfi_address(const struct cfi_section *section, const uint8_t *at)
{
	return section->address + (at - section->bytes);
}

/* An address in one of the encodings of DW_EH_PE_…; `address` is that of the place itself. */
uint64_t cfi_take_encoded(struct dwarf_cursor *cursor, uint8_t encoding, uint64_t address);
