/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the program of a description (DWARF 5, 6.4.2): from where on which rule holds. */
#pragma once

#include "common/elf/cfi.h"
#include "common/unwind/unwind-arch.h"

enum { CFI_STATES_MAX = 64 }; /* remembered at one time */

/* Whom cfi_run() tells of the rules, in the order of their addresses. */
struct cfi_rows {
	/* From `address` on, up to the next one. 0 or -errno, which ends the run. */
	int (*add)(uint64_t address, const struct unwind_rule *rule, void *arg);
	void *arg;
};

/*
 * Runs the program of `description`. From an instruction on that cannot be run, all is FALLBACK.
 * 0 or -errno of `rows`.
 */
int cfi_run(const struct cfi *cfi, const struct cfi_description *description,
	    const struct unwind_arch *arch, const struct cfi_rows *rows);
