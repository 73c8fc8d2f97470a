/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data that a program like gzip has compressed as a whole: whoever finds it says what to do. */
#pragma once

#include <stddef.h>

/* For whoever was given a file by its name, and for whoever reads standard input. */
#define COMPRESSION_OF_FILE "it is compressed: run %s -dc FILE > OTHER, and name OTHER"
#define COMPRESSION_OF_INPUT "it is compressed: pipe it through %s -dc first"

/*
 * The program that undoes it, by the first bytes (RFC 1952, RFC 8878, the formats of bzip2 and xz).
 * NULL: it is not known to be compressed. What we read ourselves never begins like that.
 */
const char *compression_program(const void *data, size_t size);
