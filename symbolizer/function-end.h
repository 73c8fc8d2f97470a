/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a function ends that says nowhere how long it is: an assembler's, whose file has no unwind
 * information either. What is padded behind a return is the end of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { FUNCTION_END_SEARCH_MAX = 1 << 16 }; /* bytes; no such function is longer */

/* Whether another function may begin in these bytes of code behind the beginning of one. */
bool function_end_is_within(const unsigned char *code, size_t size);
