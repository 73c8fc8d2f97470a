/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shortens very long names: C++ templates make some of 100 KiB. A cut name keeps its beginning and
 * ends with a hash of the whole, so that different functions keep different names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a name with its mark: below WIRE_NAME_MAX, so that formats can add their own marks. */
enum { LONG_NAME_MAX = 4064 };

/* Hashes a whole name; `seed` stands for whatever else distinguishes it. */
uint64_t long_name_hash(const char *name, size_t size, uint64_t seed);

/*
 * Ends `text`, the first `size` bytes of a longer name, with the mark "…#" and 16 hexadecimal
 * digits, after a whole character and within LONG_NAME_MAX bytes. `text` has room for LONG_NAME_MAX
 * + 1 bytes. Returns the new size.
 */
size_t long_name_mark(char *text, size_t size, uint64_t hash);

/* Returns the name, or a cut and marked copy in `room` if it is too long. */
const char *long_name_fit(const char *name, uint64_t seed, char room[LONG_NAME_MAX + 1]);

/* Whether a name was cut here or by an earlier stage. */
bool long_name_is_cut(const char *name, size_t size);
