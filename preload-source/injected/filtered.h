/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the program has limited its system calls (seccomp(2)). A call of ours that the filter
 * does not expect would kill the program, so we make none from then on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool filtered_flag; /* inherited by forked children */

static inline bool filtered_is(void)
{
	return __builtin_expect(__atomic_load_n(&filtered_flag, __ATOMIC_RELAXED), 0);
}

/* Later threads inherit the denied TSC and are not recorded. */
void filtered_lose_clock(void);
bool filtered_has_clock(void);

/* Before and after a call that may set a filter. */
void filtered_begin(void);
void filtered_end(bool is_set);

/*
 * Whether this program has more filters than the `n_expected` of the reader itself, as in a
 * container. Makes only system calls that the dynamic linker has made before.
 */
bool filtered_from_before(uint64_t n_expected);
