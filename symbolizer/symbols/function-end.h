/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a function ends that says nowhere how long it is: an assembler's, whose file has no unwind
 * information either. It ends behind what does not go on, if padding follows, or an address to
 * which functions are aligned: a return, a trap, a jump to a register or out of the function.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUNCTION_END_SEARCH_MAX = 1 << 16 }; /* bytes; no such function is longer */

/* Whether another function may begin in the code of one, which itself begins at `address`. */
bool function_end_is_within(const unsigned char *code, size_t size, uint64_t address);
