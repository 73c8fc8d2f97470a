/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names that are longer than anybody keeps: C++ templates make some of 100 KiB. Such a name is cut
 * to its beginning and a mark of the whole, so that two functions stay two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a name, the mark of a cut one included: below WIRE_NAME_MAX, so that formats can add
 * marks of their own. */
enum { LONG_NAME_MAX = 4064 };

/* A number for all bytes of a name, and for what else tells it from others. */
uint64_t long_name_hash(const char *name, size_t size, uint64_t seed);

/*
 * Ends a text that holds `size` bytes of a longer name with the mark "…#" and 16 digits, at most
 * LONG_NAME_MAX bytes from its beginning and behind a whole character. `text` has room for
 * LONG_NAME_MAX + 1 bytes. Returns the new size.
 */
size_t long_name_mark(char *text, size_t size, uint64_t hash);

/* The name, or in `room` the same cut and marked if it is too long. */
const char *long_name_fit(const char *name, uint64_t seed, char room[LONG_NAME_MAX + 1]);

/* Whether a name was cut here, or by a stage before. */
bool long_name_is_cut(const char *name, size_t size);
