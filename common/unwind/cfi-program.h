/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the program of an FDE (DWARF 5, 6.4.2): from which address on which rule holds. */
#pragma once

#include "common/elf/cfi.h"
#include "common/unwind/unwind-arch.h"

enum { CFI_STATES_MAX = 64 }; /* on the stack of DW_CFA_remember_state */

/* Receives the rules from cfi_run(), in order of address. */
struct cfi_rows {
	/* `rule` holds from `address` up to the next one. 0 or -errno, which ends the run. */
	int (*add)(uint64_t address, const struct unwind_rule *rule, void *arg);
	void *arg;
};

/* Runs an FDE's program. After an invalid instruction all is FALLBACK. 0 or -errno of `rows`. */
int cfi_run(const struct cfi *cfi, const struct cfi_description *description,
	    const struct unwind_arch *arch, const struct cfi_rows *rows);
