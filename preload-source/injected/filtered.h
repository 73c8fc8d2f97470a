/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether the program has said which system calls it may make (seccomp(2)). A call of ours that it
 * does not expect would end it: from then on we make none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

extern bool filtered_flag; /* forked children have it, too */

static inline bool filtered_is(void)
{
	return __builtin_expect(__atomic_load_n(&filtered_flag, __ATOMIC_RELAXED), 0);
}

/* Threads that come later have no clock either, and are not recorded. */
void filtered_lose_clock(void);
bool filtered_has_clock(void);

/* Before calls that may set a filter, and what has become of them. */
void filtered_begin(void);
void filtered_end(bool is_set);

/*
 * Whether this program runs under more filters than those that everything here runs under, as in a
 * container: `n_expected` of them. It makes only calls that the dynamic linker has made before.
 */
bool filtered_from_before(uint64_t n_expected);
