/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A mapped file that is read from its begin to its end. What was read is let go in pieces, so that
 * a large file does not fill memory; it is read again if need be.
 */
#pragma once

#include <stddef.h>

enum { MAP_PASS_PIECE = 64 << 20 }; /* bytes: a multiple of any page's */

/* Zeroed at the begin. */
struct map_pass {
	size_t kept_from;
};

/* The reader has come to an offset of the file, which is mapped at `map`, never to be written. */
void map_pass_come_to(struct map_pass *pass, const void *map, size_t at);
